// The form of a response that a client asks for: the clauses of its Accept header, and whether JSON
// is indented.

/** The parts of a request that content negotiation reads. */
export interface AcceptRequest {
  /** The keys are lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly query: URLSearchParams;
}

export interface AcceptClause {
  readonly type: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * The longest header that is read. A longer one counts as accepting nothing. Clients send less than
 * 300 bytes.
 */
export const MAX_ACCEPT_LENGTH = 4096;

/**
 * Returns the clauses of an Accept header by falling preference. Of clauses with the same quality
 * the more specific ones come first.
 */
export function parseAccept(header: string): AcceptClause[] {
  if (header.length > MAX_ACCEPT_LENGTH) return [];
  const clauses = header.split(',').map((text): AcceptClause => {
    const [type = '', ...rest] = text.split(';');
    const parameters = new Map<string, string>();
    for (const parameter of rest) {
      const equals = parameter.indexOf('=');
      if (equals > 0)
        parameters.set(
          parameter.slice(0, equals).trim().toLowerCase(),
          parameter.slice(equals + 1).trim(),
        );
    }
    const quality = Number(parameters.get('q') ?? 1);
    return {
      type: type.trim().toLowerCase(),
      quality: Number.isFinite(quality) ? quality : 0,
      parameters,
    };
  });
  // The sort is stable: clauses of equal rank keep the client's order.
  return clauses
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality || wildcards(a.type) - wildcards(b.type));
}

/** The texts that Go's strconv.ParseBool reads as true. */
const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'True', 'TRUE']);

/**
 * Reports whether JSON is indented: the query asks for it, or the client is a program that shows
 * JSON to people.
 */
export function wantsPretty({ headers, query }: AcceptRequest): boolean {
  const pretty = query.get('pretty');
  if (pretty !== null && pretty !== '') return TRUE.has(pretty);
  const agent = headers['user-agent'];
  return (
    agent !== undefined &&
    (agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0'))
  );
}

function wildcards(type: string): number {
  return type === '*/*' || type === '*' ? 2 : type.endsWith('/*') ? 1 : 0;
}
