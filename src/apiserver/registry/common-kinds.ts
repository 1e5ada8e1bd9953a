// Kinds that any endpoint may return: a Status, metadata only, discovery. They belong to the
// machinery, not to the catalog, so that such objects can be encoded without a codec from outside.

import { DescriptorCodec } from '#api/machinery/codec/descriptor-codec.ts';
import type { ProtobufCodec } from '#api/machinery/codec/object-codec.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { parseApiVersion } from '#api/machinery/scheme.ts';

const DISCOVERY = 'apidiscovery.k8s.io/v2';
/**
 * Discovery documents of the core group have either of these apiVersions, since the older ones have
 * none.
 */
const LEGACY = ['', 'v1'];
const METADATA = ['meta.k8s.io/v1', 'meta.k8s.io/v1beta1'];

/** The common kinds: the descriptor, and the apiVersions in which the kind has its fields. */
const COMMON_KINDS: ReadonlyMap<
  string,
  readonly [message: string, apiVersions: readonly string[]]
> = new Map([
  ['Status', ['meta/v1.Status', ['v1']]],
  ['PartialObjectMetadata', ['meta/v1.PartialObjectMetadata', METADATA]],
  ['PartialObjectMetadataList', ['meta/v1.PartialObjectMetadataList', METADATA]],
  ['APIVersions', ['meta/v1.APIVersions', LEGACY]],
  ['APIGroup', ['meta/v1.APIGroup', LEGACY]],
  ['APIGroupList', ['meta/v1.APIGroupList', LEGACY]],
  ['APIResourceList', ['meta/v1.APIResourceList', LEGACY]],
  ['APIGroupDiscovery', ['apidiscovery/v2.APIGroupDiscovery', [DISCOVERY]]],
  ['APIGroupDiscoveryList', ['apidiscovery/v2.APIGroupDiscoveryList', [DISCOVERY]]],
]);

const codecs = new Map<string, ProtobufCodec>();

/** Returns the codec of a common kind; undefined for all other kinds. */
export function commonProtobufCodec(apiVersion: string, kind: string): ProtobufCodec | undefined {
  const common = COMMON_KINDS.get(kind);
  if (common === undefined || !common[1].includes(apiVersion)) return undefined;
  let codec = codecs.get(kind);
  if (codec === undefined) {
    const { group, version } = parseApiVersion(apiVersion) ?? { group: '', version: '' };
    codec = new DescriptorCodec({
      kind: { group, version, kind },
      message: allSchemas.message(common[0]),
    }).protobuf;
    codecs.set(kind, codec);
  }
  return codec;
}
