// In which form does the client want its answer? JSON or YAML, and for objects and lists: as they are, as a Table, or as
// metadata only. https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources

import * as apierrors from '../../machinery/apierrors.ts';
import type { ApiRequest, ResponseFormat } from '../request.ts';

export type Representation = 'object' | 'table' | 'partialMetadata';

export interface Negotiated {
  readonly format: ResponseFormat;
  readonly as: Representation;
}

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';
const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';
/** What is served, as it is told to those who accept none of it. */
const SERVED = [JSON_TYPE, YAML_TYPE] as const;

const PLAIN: Negotiated = { format: { mediaType: JSON_TYPE }, as: 'object' };
const PRETTY: Negotiated = { format: { mediaType: JSON_TYPE, pretty: true }, as: 'object' };

export interface NegotiationOptions {
  /** Whether the answer can be a Table or metadata only. */
  readonly transforms: boolean;
  /** A watch has no pretty form, and none in YAML. */
  readonly watch?: boolean;
}

/** Throws StatusError (406). */
export function negotiate(request: Pick<ApiRequest, 'headers' | 'query'>, options: NegotiationOptions): Negotiated {
  const accept = request.headers['accept'];
  const pretty = options.watch !== true && wantsPretty(request);
  if (accept === undefined || accept === '' || accept === JSON_TYPE || accept === '*/*') return pretty ? PRETTY : PLAIN;
  for (const clause of parseAccept(accept)) {
    const mediaType = servedType(clause.type, options.watch === true);
    if (mediaType === undefined) continue;
    const as = representationOf(clause, options.transforms);
    if (as === undefined) continue;
    return { format: { mediaType, pretty: pretty || clause.parameters.get('pretty') === '1' }, as };
  }
  throw apierrors.notAcceptable(options.watch === true ? [JSON_TYPE] : SERVED);
}

interface AcceptClause {
  readonly type: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The clauses of an Accept header, the most wanted first. */
export function parseAccept(header: string): AcceptClause[] {
  const clauses = header.split(',').map((text): AcceptClause => {
    const [type = '', ...rest] = text.split(';');
    const parameters = new Map<string, string>();
    for (const parameter of rest) {
      const equals = parameter.indexOf('=');
      if (equals > 0) parameters.set(parameter.slice(0, equals).trim().toLowerCase(), parameter.slice(equals + 1).trim());
    }
    const quality = Number(parameters.get('q') ?? 1);
    return { type: type.trim().toLowerCase(), quality: Number.isFinite(quality) ? quality : 0, parameters };
  });
  // The sort is stable: what is wanted alike stays in the client's order.
  return clauses.filter(({ quality }) => quality > 0).sort((a, b) => b.quality - a.quality);
}

function servedType(type: string, watch: boolean): ResponseFormat['mediaType'] | undefined {
  switch (type) {
    case JSON_TYPE:
    case '*/*':
    case 'application/*':
      return JSON_TYPE;
    case YAML_TYPE:
      return watch ? undefined : YAML_TYPE;
    case PROTOBUF_TYPE:
    default:
      return undefined;
  }
}

/** Undefined: not to be had. */
function representationOf({ parameters }: AcceptClause, transforms: boolean): Representation | undefined {
  const as = parameters.get('as');
  if (as === undefined) return 'object';
  if (!transforms || parameters.get('g') !== 'meta.k8s.io') return undefined;
  const version = parameters.get('v');
  if (version !== 'v1') return undefined;
  if (as === 'Table') return 'table';
  if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return 'partialMetadata';
  return undefined;
}

/** Asked for, or sent to one of the programs behind which a person sits who reads it. */
function wantsPretty({ headers, query }: Pick<ApiRequest, 'headers' | 'query'>): boolean {
  const pretty = query.get('pretty');
  if (pretty !== null && pretty !== '') return pretty !== 'false' && pretty !== '0';
  const agent = headers['user-agent'];
  return agent !== undefined && (agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0'));
}
