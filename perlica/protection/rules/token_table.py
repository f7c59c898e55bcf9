"""The self-identifying tokens: prefix, alphabet and length, as providers document or public
scanners hold them.

Read by `rules.tokens`. One line a family: kind, prefixes, alphabet, least length behind the
prefix, usual length
behind the prefix (0 when it varies), and `dice` where the prefix is short enough to begin
ordinary words.
Alphabets: a letters and digits, u also _ and -, d also a dot, b base64 of either sort, h hex, U
capitals and
digits, l small letters and digits.
"""

from typing import Final

CHINA: Final = """
alibaba_key LTAI a 12 0 -
alibaba_key STS. a 16 0 dice
alibaba_token CAIS b 60 0 -
tencent_key AKID u 32 32 -
baidu_key ALTAK,ALTAK- a 20 21 -
jdcloud_key JDC_ U 24 28 -
volcengine_key AKLT,AKTP b 20 43 -
llm_key sk- u 20 0 dice
coze_token pat_ a 40 64 -
dify_key app-,dataset- a 24 24 dice
fastgpt_key fastgpt- a 40 0 -
modelscope_token ms- u 36 36 dice
feishu_token t-g,u-g,t-7,u-7,a-6 d 28 0 dice
dingtalk_secret SEC h 64 64 -
serverchan_key SCT,sctp a 26 0 dice
pushplus_token PDU a 30 0 dice
"""

CODE_HOSTING: Final = """
github_token ghp_,gho_,ghu_,ghr_ a 30 36 -
github_token ghs_ d 30 0 -
github_token github_pat_ u 22 82 -
gitlab_token glpat-,gldt-,glrt-,glrtr-,glptt-,glft-,glimt-,glagent- d 20 0 -
gitlab_token gloas-,glsoat-,glffct-,glcbt-,glwt- d 20 0 -
gitlab_token GR1348941 u 20 20 -
bitbucket_token ATBB a 28 32 -
bitbucket_token BBDC- u 40 0 -
atlassian_token ATATT3,ATCTT3,ATSTT3 b 60 0 -
trello_token ATTA a 60 76 -
gitea_token gta_ a 40 0 -
sourcegraph_token sgp_ u 40 0 -
npm_token npm_ a 36 36 -
pypi_token pypi-Ag u 48 0 -
rubygems_key rubygems_ h 48 48 -
crates_token cio a 32 32 dice
nuget_key oy2 l 43 43 dice
docker_token dckr_pat_,dckr_oat_ u 27 0 -
jfrog_key AKCp a 60 0 -
jfrog_key cmVmdGtu b 50 0 -
clojars_token CLOJARS_ l 60 60 -
sonar_token squ_,sqp_,sqa_,sqb_ h 40 40 -
buildkite_token bkua_,bkat_,bkaj_ a 40 0 -
circleci_token CCIPAT_,CCIPRJ_ u 40 0 -
travis_token travis_ a 22 0 dice
snyk_token snyk_ u 36 0 -
codeberg_token cbt_ a 40 0 -
"""

CLOUD: Final = """
aws_access_key AKIA,ASIA,ABIA,ACCA U 16 16 -
aws_token IQoJb3JpZ2lu,FwoGZXIvYXdz,FQoGZXIvYXdz b 80 0 -
aws_bedrock_key ABSK b 100 0 -
aws_bedrock_key bedrock-api-key- b 60 0 -
google_key AIza u 35 35 -
google_key AQ.Ab u 36 0 -
google_token ya29. d 20 0 -
google_token GOCSPX- u 24 28 -
google_token 1//0 u 30 0 -
cloudflare_token cfat_,cfut_,cfk_,cfd_ a 40 48 -
cloudflare_key v1.0- u 100 0 -
digitalocean_token dop_v1_,doo_v1_,dor_v1_ h 64 64 -
heroku_key HRKU-AA u 50 58 -
heroku_key HRKU- u 36 36 -
fly_token fm1_,fm2_,fm1a_,fm1r_,fo1_ b 40 0 -
vercel_token vcp_,vci_,vca_,vcr_,vck_ a 24 0 -
netlify_token nfp_ a 36 0 -
render_key rnd_ a 26 28 -
neon_key napi_ a 40 64 -
supabase_key sbp_ a 40 0 -
supabase_key sb_secret_ u 30 31 -
planetscale_token pscale_tkn_,pscale_oauth_,pscale_pw_ d 32 0 -
databricks_token dapi,dose,dkea h 32 32 -
hashicorp_token hvs.,hvb.,hvr. u 24 0 -
vault_token s. a 24 24 dice
pulumi_token pul- h 40 40 -
tailscale_key tskey- u 24 0 -
yandex_key AQVN u 35 0 -
yandex_key YCA,YCM,YCN u 35 0 dice
scaleway_key SCW U 17 17 dice
linode_token lin_pat_ a 40 0 -
ibm_key ApiKey- u 40 0 -
alicloud_token cn- a 40 0 dice
openshift_token sha256~ u 43 43 -
rancher_token K10 u 64 0 -
portainer_token ptr_ b 40 0 -
pterodactyl_token ptla_,ptlc_ a 43 43 -
prefect_key pnu_,pnb_ a 36 36 -
infracost_key ico- a 32 32 -
doppler_token dp.pt.,dp.ct.,dp.st.,dp.sa.,dp.scim.,dp.audit. d 40 0 -
infisical_token st. d 60 0 dice
onepassword_token ops_eyJ b 100 0 -
teleport_token teleport- a 32 0 dice
dynatrace_token dt0c01.,dt0s01.,dt0s16. d 80 0 -
swarm_key SWMKEY-1- b 40 43 -
swarm_token SWMTKN-1- u 60 0 -
age_key AGE-SECRET-KEY-1,AGE-PLUGIN- U 50 58 -
nostr_key nsec1 l 58 58 -
"""

MODELS: Final = """
anthropic_key sk-ant- u 24 0 -
openrouter_key sk-or- u 32 0 -
huggingface_token hf_,api_org_ a 34 34 -
groq_key gsk_ a 40 52 -
xai_key xai- a 60 80 -
perplexity_key pplx- a 40 48 -
replicate_token r8_ a 37 37 -
together_key tgp_v1_ u 40 43 -
cerebras_key csk- a 40 48 -
nvidia_key nvapi- u 50 0 -
tavily_key tvly- u 24 0 -
langsmith_key lsv2_pt_,lsv2_sk_ u 40 43 -
pinecone_key pcsk_ u 40 0 -
jina_key jina_ a 40 60 -
firecrawl_key fc- h 32 32 -
fireworks_key fw_ a 22 0 dice
voyage_key pa- u 40 0 dice
e2b_key e2b_ h 40 40 -
runpod_key rpa_ a 40 0 -
openai_session sess- a 40 40 dice
elevenlabs_key sk_ h 48 48 -
modal_token ak-,as- a 22 22 dice
anyscale_key esecret_ a 24 0 -
cursor_key key_ h 64 64 -
brave_key BSA u 27 0 dice
wandb_key wandb_v1_ u 40 0 -
deepinfra_key di_ a 32 0 dice
"""

SERVICES: Final = """
stripe_key sk_live_,rk_live_,sk_test_,rk_test_,sk_prod_,rk_prod_ a 10 0 -
webhook_secret whsec_ b 24 0 -
twilio_key SK h 32 32 -
sendgrid_key SG. d 50 66 -
mailgun_key key- h 32 32 -
brevo_key xkeysib-,xsmtpsib- u 60 0 -
resend_key re_ u 28 0 dice
mailersend_token mlsn. h 64 64 -
square_token EAAA u 56 0 -
square_token sq0csp-,sq0atp- u 22 0 -
facebook_token EAA a 80 0 -
shopify_token shpat_,shpca_,shppa_,shpss_,shptka_ h 32 32 -
notion_token ntn_ a 40 46 -
notion_token secret_ a 40 43 dice
linear_key lin_api_,lin_oauth_,lin_wh_ a 30 0 -
figma_token figd_,figo_,figu_ u 36 0 -
postman_key PMAK-,PMAT- u 24 0 -
typeform_token tfp_ d 40 0 -
grafana_token glsa_ u 32 41 -
grafana_token glc_ b 32 0 -
grafana_key eyJrIjoi b 40 0 -
tunnel_token eyJhIjoi b 80 0 -
sentry_token sntryu_,sntrya_ h 64 64 -
sentry_token sntrys_ b 40 0 -
newrelic_key NRAK- U 27 27 -
newrelic_key NRJS-,NRII-,NRAA-,NRIQ-,NRSP- u 19 0 -
posthog_key phx_,phs_ a 32 0 -
slack_token xoxb-,xoxp-,xoxe-,xoxe.xoxp-,xoxe.xoxb-,xoxa-,xoxr-,xoxs-,xoxc-,xoxd-,xoxo- b 20 0 -
slack_token xapp-,xwfp- u 30 0 -
discord_token mfa. u 60 84 dice
contentful_token CFPAT- u 43 43 -
hubspot_token pat-na1-,pat-na2-,pat-eu1-,pat-ap1- u 36 36 -
harness_token pat.,sat. d 60 0 dice
easypost_key EZAK,EZTK a 54 54 -
shippo_token shippo_live_,shippo_test_ h 40 40 -
flutterwave_key FLWSECK- u 30 0 -
flutterwave_key FLWSECK_TEST- u 30 0 -
adafruit_key aio_ a 28 28 -
duffel_token duffel_live_,duffel_test_ u 40 43 -
frameio_token fio-u- u 60 0 -
launchdarkly_key sdk-,api-,mob- u 36 36 uuid
plaid_token access-sandbox-,access-development-,access-production- u 36 36 -
readme_key rdme_ l 70 70 -
scalingo_token tk-us- u 48 48 -
settlemint_token sm_pat_,sm_aat_,sm_sat_ a 16 16 -
dropbox_token sl. u 100 0 -
xata_key xau_ a 30 0 -
ory_token ory_at_,ory_st_,ory_pat_ u 30 0 -
workos_key wos_ a 30 0 -
defined_token dnkey- u 50 0 -
linkedin_token AQX u 100 0 -
mapbox_token sk.eyJ d 60 0 -
twitch_token oauth: a 30 30 -
rollbar_token rba_ a 30 0 -
customer_key authress_ d 40 0 -
paypal_token A21AA u 60 0 -
tines_token tn_ a 32 0 dice
zoom_token zak_ d 40 0 dice
zhihu_token z_c0= d 40 0 -
"""

TABLES: Final = (CHINA, CODE_HOSTING, CLOUD, MODELS, SERVICES)
