// A kind as the server serves it: its type, codec, verbs, subresources and columns, in one value.

import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { GroupVersionKind, ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ObjectConverter } from '../registry/object-converter.ts';
import type { Rest } from '../registry/rest.ts';
import type { SelectableFields } from '../registry/selectable-fields.ts';
import type { ResourceStrategy, SubresourceStrategy } from '../registry/strategy.ts';
import type { TableConvertor } from '../tables/table.ts';

export interface Subresource {
  /** The name, such as 'status' or 'scale'. */
  readonly name: string;
  /** The kind of the objects that it takes and returns, which may differ from the parent's. */
  readonly kind: GroupVersionKind;
  readonly rest: Rest;
  /**
   * Encodes and decodes its objects. Default: the parent's codec if `kind` is the parent's,
   * otherwise that of the typed descriptor.
   */
  readonly codec?: ObjectCodec;
  /** The rules for writes, for a view of the stored object. */
  readonly strategy?: SubresourceStrategy<KubeObject>;
  /** The HTTP methods of `connect`. Default: GET and POST. */
  readonly connectMethods?: readonly string[];
  /** `connect` only reads, so admission is skipped. Default: false. */
  readonly readsOnly?: boolean;
  /** The status code of a successful create. Default: 201. */
  readonly createCode?: number;
  readonly table?: TableConvertor;
}

/**
 * One resource in one version, with everything that is served about it. It is the unit of
 * installation (Catalog) and of discovery.
 */
export interface Kind {
  readonly type: ResourceType;
  /**
   * Encodes and decodes its objects. Read it with `codecOf`. Default: the codec of the typed
   * descriptor.
   */
  readonly codec?: ObjectCodec;
  readonly rest: Rest;
  /** The rules for its objects. Absent: they are not stored, or not by this server. */
  readonly strategy?: ResourceStrategy<KubeObject>;
  /** The fields of field selectors. Default: metadata.name and metadata.namespace. */
  readonly selectableFields?: SelectableFields;
  readonly subresources?: readonly Subresource[];
  /** The columns of tables. Default: Name and Age. */
  readonly table?: TableConvertor;
  /**
   * Returns the metadata for tables and for clients that request only metadata. Default: that of
   * the object.
   */
  readonly metadataOf?: (object: KubeObject) => KubeObject['metadata'];
  /** The kind of lists. Default: the kind with the suffix List. */
  readonly listKind?: string;
  /**
   * Other versions of the same objects, which have a common field ownership. A converter is
   * required then.
   */
  readonly otherVersions?: readonly GroupVersionKind[];
  /** Converts between this version and the others. */
  readonly converter?: ObjectConverter;
  /** The kind and version in which the objects are stored. Default: those of `type`. */
  readonly storedKind?: GroupVersionKind;
  /** The deprecation warning, which is in every response. */
  readonly deprecation?: string;
  /** The status code of a successful create. Default: 201. */
  readonly createCode?: number;
  /**
   * A CustomResourceDefinition defines the kind. Upstream has a separate handler for such kinds,
   * with other errors for unknown paths. Default: false.
   */
  readonly isCustom?: boolean;
  /**
   * A text that changes whenever the OpenAPI document of the kind changes. If all kinds of a
   * document have one, its hash is known without building it. Default: none.
   */
  readonly fingerprint?: string;
  /** Discovery information that cannot be derived from the other fields. */
  readonly discovery?: DiscoveryHints;
  /** Default: 'published'. */
  readonly visibility?: Visibility;
}

export interface DiscoveryHints {
  /** The verbs in this order. Default: the verbs that its Rest has. */
  readonly verbs?: readonly string[];
}

/**
 * Finds a kind of the same server, for kinds that use objects of another kind. Undefined: the
 * server does not have it.
 */
export type FindKind = (group: string, resource: string) => Kind | undefined;

/**
 * The visibility of a kind. 'published': clients find it in discovery and OpenAPI. 'unlisted':
 * clients can request it, but neither discovery nor OpenAPI describes it. 'internal': only the
 * server reads and writes its objects (authorizers need roles, for example, even if
 * --runtime-config disables their API).
 */
export type Visibility = 'published' | 'unlisted' | 'internal';

const VERBS: readonly (readonly [string, (rest: Rest) => boolean])[] = [
  ['create', (rest) => rest.create !== undefined],
  ['delete', (rest) => rest.delete !== undefined],
  ['deletecollection', (rest) => rest.deleteCollection !== undefined],
  ['get', (rest) => rest.get !== undefined],
  ['list', (rest) => rest.list !== undefined],
  ['patch', (rest) => rest.update !== undefined && rest.get !== undefined],
  ['update', (rest) => rest.update !== undefined],
  ['watch', (rest) => rest.watch !== undefined],
];

/** Returns the verbs of a resource or subresource, as discovery lists them. */
export function verbsOf(
  served: Pick<Subresource, 'rest' | 'connectMethods'> & Pick<Kind, 'discovery'>,
): string[] {
  if (served.discovery?.verbs !== undefined) return [...served.discovery.verbs];
  if (served.rest.connect !== undefined) {
    const verbOf: Readonly<Record<string, string>> = {
      GET: 'get',
      POST: 'create',
      PUT: 'update',
      PATCH: 'patch',
      DELETE: 'delete',
    };
    // Other methods (HEAD, OPTIONS) have no verb of their own.
    return (served.connectMethods ?? ['GET', 'POST'])
      .flatMap((method) => verbOf[method] ?? [])
      .toSorted();
  }
  return VERBS.filter(([, serves]) => serves(served.rest)).map(([verb]) => verb);
}
