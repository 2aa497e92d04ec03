# Images in one OCI layout, $LAYOUT, so that what they share is in it once. Sourced by build and howdah-image.
# shellcheck shell=bash

blob() { # blob <file>: moves it into the layout; its descriptor without the media type
  local sum
  sum=$(sha256sum "$1" | cut -d' ' -f1)
  printf '"digest":"sha256:%s","size":%s' "$sum" "$(stat -c %s "$1")"
  mv "$1" "$LAYOUT/blobs/sha256/$sum"
}
layer() { # layer <name> <tar options...>: $LAYOUT/<name>.layer has its descriptor
  local name=$1
  shift
  tar -cf "$LAYOUT/tmp" "$@" .
  blob "$LAYOUT/tmp" >"$LAYOUT/$name.layer"
}
image() { # image <name:tag> <config json> <layer...>
  local name=$1 config=$2 layers='' diffs='' one oci=application/vnd.oci.image
  shift 2
  for one in "$@"; do
    layers+="${layers:+,}{\"mediaType\":\"$oci.layer.v1.tar\",$(cat "$LAYOUT/$one.layer")}"
    diffs+="${diffs:+,}$(sed 's/"digest":\([^,]*\),.*/\1/' "$LAYOUT/$one.layer")"
  done
  printf '{"architecture":"%s","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":[%s]}}' \
    "$(dpkg --print-architecture)" "$config" "$diffs" >"$LAYOUT/tmp"
  one=$(blob "$LAYOUT/tmp")
  printf '{"schemaVersion":2,"mediaType":"%s.manifest.v1+json","config":{"mediaType":"%s.config.v1+json",%s},"layers":[%s]}' \
    $oci $oci "$one" "$layers" >"$LAYOUT/tmp"
  printf '{"mediaType":"%s.manifest.v1+json",%s,"annotations":{"io.containerd.image.name":"localhost/%s"}}\n' \
    $oci "$(blob "$LAYOUT/tmp")" "$name" >>"$LAYOUT/manifests"
}
root_layer() { # Debian, with what the images of databases have
  layer root --numeric-owner -C "$ROOTFS" --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*'
}
index() { # the last step
  printf '{"schemaVersion":2,"manifests":[%s]}' "$(paste -sd, "$LAYOUT/manifests")" >"$LAYOUT/index.json"
  echo '{"imageLayoutVersion":"1.0.0"}' >"$LAYOUT/oci-layout"
}
