# The begin of a campaign on one core, sourced by it: DATA and OUTPUT are its first arguments. It reads $root, and sets
# $data, $core and $precision. The working directory is then OUTPUT.

[ $# -ge 2 ] || { echo "error: give DATA OUTPUT." >&2; exit 2; }
data=$(realpath "$1") core=${CORE:-0}
mkdir -p "$2" && cd "$2"
shift 2
command -v fairseq-train >/dev/null || . "$root/recipes/environment.sh"
. "$root/tests/campaigns/french_text.bash"
precision=()
if grep -q "amx_bf16\|avx512_bf16" /proc/cpuinfo; then precision=(--bf16-autocast --muon-bf16); fi
