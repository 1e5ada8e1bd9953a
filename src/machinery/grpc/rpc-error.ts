// The error type of gRPC calls: a status code by its name, and the peer's message.

export const rpcCodes = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

export type RpcCode = (typeof rpcCodes)[number];

/** Go's names of the codes, which messages to users have. */
const GO_NAMES: Readonly<Record<RpcCode, string>> = {
  OK: 'OK',
  CANCELLED: 'Canceled',
  UNKNOWN: 'Unknown',
  INVALID_ARGUMENT: 'InvalidArgument',
  DEADLINE_EXCEEDED: 'DeadlineExceeded',
  NOT_FOUND: 'NotFound',
  ALREADY_EXISTS: 'AlreadyExists',
  PERMISSION_DENIED: 'PermissionDenied',
  RESOURCE_EXHAUSTED: 'ResourceExhausted',
  FAILED_PRECONDITION: 'FailedPrecondition',
  ABORTED: 'Aborted',
  OUT_OF_RANGE: 'OutOfRange',
  UNIMPLEMENTED: 'Unimplemented',
  INTERNAL: 'Internal',
  UNAVAILABLE: 'Unavailable',
  DATA_LOSS: 'DataLoss',
  UNAUTHENTICATED: 'Unauthenticated',
};

/** The longest message of a peer that is kept. */
const MAX_DETAILS = 4096;

export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: RpcCode;
  /** The peer's message, without the code. */
  readonly details: string;

  constructor(code: RpcCode, details: string, options?: ErrorOptions) {
    const kept = details.length > MAX_DETAILS ? `${details.slice(0, MAX_DETAILS)}…` : details;
    super(`rpc error: code = ${GO_NAMES[code]} desc = ${kept}`, options);
    this.code = code;
    this.details = kept;
  }

  /** The code's name in Go, such as 'DeadlineExceeded'. */
  get goName(): string {
    return GO_NAMES[this.code];
  }

  /** The code's number on the wire. */
  get number(): number {
    return rpcCodes.indexOf(this.code);
  }
}

export function isRpcError(error: unknown, ...codes: RpcCode[]): error is RpcError {
  return error instanceof RpcError && (codes.length === 0 || codes.includes(error.code));
}
