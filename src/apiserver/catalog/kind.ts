// A kind of object as the server serves it: its type, codec, verbs, subresources and columns, in one value.

import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { GroupVersionKind, ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ObjectConverter } from '../registry/object-converter.ts';
import type { Rest } from '../registry/rest.ts';
import type { SelectableFields } from '../registry/selectable-fields.ts';
import type { ResourceStrategy, SubresourceStrategy } from '../registry/strategy.ts';
import type { TableConvertor } from '../tables/table.ts';

export interface Subresource {
  /** 'status', 'scale' … */
  readonly name: string;
  /** The kind of the objects that it takes and returns, which may differ from the parent's. */
  readonly kind: GroupVersionKind;
  readonly rest: Rest;
  /** Reads and writes its objects. Default: that of the parent if `kind` is the parent's, or else of the typed descriptor. */
  readonly codec?: ObjectCodec;
  /** The rules of writes, for a view of the stored object. */
  readonly strategy?: SubresourceStrategy<KubeObject>;
  /** For `connect`: the HTTP methods it takes. Default: GET and POST. */
  readonly connectMethods?: readonly string[];
  /** For `connect`: it only reads, so that admission is not asked. Default: admission is asked. */
  readonly readsOnly?: boolean;
  /** The status of a successful create. Default: 201. */
  readonly createCode?: number;
  readonly table?: TableConvertor;
}

/** One resource in one version, and everything that is served about it: the unit of installation (Catalog) and of discovery. */
export interface Kind {
  readonly type: ResourceType;
  /** Reads and writes its objects. Default: the codec of the typed descriptor. To be asked for by `codecOf`. */
  readonly codec?: ObjectCodec;
  readonly rest: Rest;
  /** The rules of its objects. Absent: they are not stored, or not by this server. */
  readonly strategy?: ResourceStrategy<KubeObject>;
  /** The fields of field selectors. Default: metadata.name and metadata.namespace. */
  readonly selectableFields?: SelectableFields;
  readonly subresources?: readonly Subresource[];
  /** Without it, a table has Name and Age. */
  readonly table?: TableConvertor;
  /** The list kind. Default: the kind with List behind it. */
  readonly listKind?: string;
  /** Other versions in which the same objects are written: who owns fields in one owns them in all. There is a converter then. */
  readonly otherVersions?: readonly GroupVersionKind[];
  /** Converts between this version and the others. */
  readonly converter?: ObjectConverter;
  /** The kind and version in which the objects are stored. Default: those of `type`. */
  readonly storedKind?: GroupVersionKind;
  /** The warning of a deprecated kind, in every response. */
  readonly deprecation?: string;
  /** The status of a successful create. Default: 201. */
  readonly createCode?: number;
  /**
   * A definition defines it. Upstream serves such kinds by a handler of its own: paths that it does not serve have other errors. Default:
   * false.
   */
  readonly isCustom?: boolean;
  /**
   * Changes whenever what OpenAPI says of the kind does. Documents of kinds that all have one need not be made to know their hash. Default:
   * there is none.
   */
  readonly fingerprint?: string;
  /** Discovery information that does not follow from the rest. */
  readonly discovery?: DiscoveryHints;
  /** Default: 'published'. */
  readonly visibility?: Visibility;
}

export interface DiscoveryHints {
  /** In this order. Default: the verbs that its Rest has. */
  readonly verbs?: readonly string[];
}

/** Finds a kind of the same server, for kinds that work with the objects of another. Undefined: the server does not have it. */
export type FindKind = (group: string, resource: string) => Kind | undefined;

/**
 * Who can see a kind. 'published': clients find it in discovery and OpenAPI. 'unlisted': clients can request it, but neither discovery
 * nor OpenAPI describes it. 'internal': only the server reads and writes its objects (authorizers need roles, for example, also when
 * --runtime-config turns their API off).
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

/** The verbs of a resource or subresource as discovery lists them. */
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
