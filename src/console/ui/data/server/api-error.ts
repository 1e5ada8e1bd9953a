// The errors of requests: a closed set. Everything that a page shows for an error follows from one
// of these.

/** The part of a Status object that clients read. */
export interface StatusBody {
  readonly kind?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly causes?: readonly { readonly field?: string; readonly message?: string }[];
    readonly retryAfterSeconds?: number;
  };
}

/** The server answered with an error. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly body: StatusBody;

  constructor(code: number, body: StatusBody) {
    super(body.message ?? `the server answered with status ${code}`);
    this.name = 'ApiError';
    this.code = code;
    this.reason = body.reason ?? '';
    this.body = body;
  }
}

/** No answer came: the server or the network is gone. */
export class UnreachableError extends Error {
  constructor(cause: unknown) {
    super('the server cannot be reached', { cause });
    this.name = 'UnreachableError';
  }
}

const hasCode = (error: unknown, code: number): boolean =>
  error instanceof ApiError && error.code === code;

export const isUnauthorized = (error: unknown): boolean => hasCode(error, 401);
export const isForbidden = (error: unknown): boolean => hasCode(error, 403);
export const isNotFound = (error: unknown): boolean => hasCode(error, 404);
export const isConflict = (error: unknown): boolean => hasCode(error, 409);
/** Reports whether a resource version or a continue token is too old. */
export const isExpired = (error: unknown): boolean => hasCode(error, 410);
/** Reports whether the request was given up by this page. */
export const isAbort = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'AbortError';

/** Returns the text of an error for the user. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
