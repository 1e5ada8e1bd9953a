// Content negotiation: JSON, YAML or protobuf, and for objects and lists: as they are, as a Table,
// or as metadata only.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources

import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import { PROTOBUF_CONTENT_TYPE } from '#api/machinery/codec/protobuf/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { type AcceptClause, parseAccept, wantsPretty } from '#machinery/serving/accept.ts';
import type { ApiRequest, ResponseFormat } from '../request.ts';

export type Representation = 'object' | 'table' | 'partialMetadata';

export interface Negotiated {
  readonly format: ResponseFormat;
  readonly as: Representation;
  /**
   * The client requested metadata by the kind of a list or of one object, which the response must
   * have.
   */
  readonly named?: 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  /**
   * The requested version of meta.k8s.io for a Table or metadata. Both versions have the same
   * fields. Default: 'v1'.
   */
  readonly metaVersion?: MetaVersion;
  /**
   * Rows of a Table have only the identifying part of the metadata: the parameter
   * `metadata=identity`, which upstream does not know and ignores. Default: false.
   */
  readonly identity?: boolean;
}

export type MetaVersion = 'v1' | 'v1beta1';

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';
/** The media types of responses. The first one is the default. */
const SERVED = [JSON_TYPE, YAML_TYPE, PROTOBUF_CONTENT_TYPE] as const;
/** The additional media types of collections, for watches. */
const SERVED_OF_COLLECTIONS = [
  ...SERVED,
  `${JSON_TYPE};stream=watch`,
  `${PROTOBUF_CONTENT_TYPE};stream=watch`,
];
/**
 * The media types of watches, for the error 406. YAML is not among them, since an event in YAML has
 * no end.
 */
const SERVED_STREAMS = [`${JSON_TYPE};stream=watch`, `${PROTOBUF_CONTENT_TYPE};stream=watch`];

const PLAIN: Negotiated = { format: { mediaType: JSON_TYPE }, as: 'object' };
const PRETTY: Negotiated = { format: { mediaType: JSON_TYPE, pretty: true }, as: 'object' };

export interface NegotiationOptions {
  /** Whether the response can be a Table or metadata only. */
  readonly transforms: boolean;
  /**
   * Whether the response can be a Table. Kinds that can only be created (reviews, bindings,
   * evictions) have no columns. Default: as `transforms`.
   */
  readonly tables?: boolean;
  /** The request is a watch, which has neither an indented form nor YAML. */
  readonly watch?: boolean;
  /** The response is an error, which the route does not restrict. */
  readonly error?: boolean;
  /** The path is that of a collection. */
  readonly collection?: boolean;
  /**
   * The codec of the objects in the response. If its kind has no protobuf, only metadata and errors
   * can be sent in protobuf. Default: the response has only common kinds.
   */
  readonly codec?: Pick<ObjectCodec, 'protobuf' | 'isUntyped'>;
}

/** Returns the negotiated form. Throws StatusError (406). */
export function negotiate(
  request: Pick<ApiRequest, 'headers' | 'query'>,
  options: NegotiationOptions,
): Negotiated {
  const accept = request.headers['accept'];
  const pretty = options.watch !== true && wantsPretty(request);
  if (accept === undefined || accept === '' || accept === JSON_TYPE || accept === '*/*')
    return pretty ? PRETTY : PLAIN;
  const clauses = parseAccept(accept);
  const { codec } = options;
  // All kinds without protobuf are custom resources, for which upstream has no separate routes. So
  // the error of the route does not occur for them, only the later error.
  const hasRoute = options.error !== true && (codec === undefined || codec.protobuf !== undefined);
  if (
    hasRoute &&
    // Upstream's routes know no 'application/*'.
    !clauses.some(({ type }) => type === '*/*' || (SERVED as readonly string[]).includes(type))
  ) {
    throw apierrors.noRepresentation(options.collection === true ? SERVED_OF_COLLECTIONS : SERVED);
  }
  for (const clause of clauses) {
    for (const mediaType of SERVED) {
      if (!covers(clause.type, mediaType)) continue;
      const as = representationOf(clause, mediaType, options);
      if (as === undefined) continue;
      // The first acceptable clause decides, even if it asks for YAML.
      if (options.watch === true && mediaType === YAML_TYPE)
        throw apierrors.notAcceptable(SERVED_STREAMS);
      const named = clause.parameters.get('as');
      const oldMeta = as !== 'object' && clause.parameters.get('v') === 'v1beta1';
      return {
        format: {
          mediaType,
          pretty: pretty || clause.parameters.get('pretty') === '1',
          ...(mediaType === PROTOBUF_CONTENT_TYPE &&
            codec?.protobuf !== undefined && { protobuf: codec.protobuf }),
        },
        as,
        ...(as === 'table' &&
          clause.parameters.get('metadata') === 'identity' && { identity: true }),
        ...(oldMeta && { metaVersion: 'v1beta1' as const }),
        ...(as === 'partialMetadata' && {
          named: named as 'PartialObjectMetadata' | 'PartialObjectMetadataList',
        }),
      };
    }
  }
  throw apierrors.notAcceptable(SERVED);
}

/** Returns the form of an error: the requested one if a Status has it, otherwise JSON. */
export function negotiateStatus(request: Pick<ApiRequest, 'headers' | 'query'>): ResponseFormat {
  try {
    return negotiate(request, { transforms: false, error: true }).format;
  } catch (error) {
    // The error is sent even if the requested form is not available. It is indented JSON then, as
    // upstream.
    if (error instanceof apierrors.StatusError) return PRETTY.format;
    throw error;
  }
}

/** Reports whether the client accepts a document that has only one media type. */
export function acceptsType({ headers }: Pick<ApiRequest, 'headers'>, mediaType: string): boolean {
  const accept = headers['accept'] ?? '';
  return accept === '' || parseAccept(accept).some(({ type }) => covers(type, mediaType));
}

function covers(type: string, mediaType: string): boolean {
  return type === mediaType || type === '*/*' || type === '*' || type === 'application/*';
}

/** Returns the representation that a clause requests; undefined if it is not available. */
function representationOf(
  { parameters }: AcceptClause,
  mediaType: ResponseFormat['mediaType'],
  { transforms, tables = transforms, codec }: NegotiationOptions,
): Representation | undefined {
  const stream = parameters.get('stream') ?? '';
  if (stream !== '' && (stream !== 'watch' || mediaType === YAML_TYPE)) return undefined;
  const as = parameters.get('as');
  if (as === undefined && !parameters.has('g') && !parameters.has('v')) {
    return mediaType === PROTOBUF_CONTENT_TYPE &&
      codec !== undefined &&
      codec.protobuf === undefined
      ? undefined
      : 'object';
  }
  if (!transforms || parameters.get('g') !== 'meta.k8s.io') return undefined;
  const version = parameters.get('v');
  if (version !== 'v1' && version !== 'v1beta1') return undefined;
  // Protobuf has no form for cells, which may have any type.
  if (as === 'Table') return !tables || mediaType === PROTOBUF_CONTENT_TYPE ? undefined : 'table';
  if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList')
    return 'partialMetadata';
  return undefined;
}
