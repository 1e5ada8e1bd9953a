// Converts CriErrors to gRPC statuses.

import { CriError, type CriErrorReason } from '#cri/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { type RpcCode, RpcError } from '#machinery/grpc/rpc-error.ts';

const CODES: Readonly<Record<CriErrorReason, RpcCode>> = {
  NotFound: 'NOT_FOUND',
  AlreadyExists: 'ALREADY_EXISTS',
  InvalidArgument: 'INVALID_ARGUMENT',
  FailedPrecondition: 'FAILED_PRECONDITION',
  Unavailable: 'UNAVAILABLE',
  DeadlineExceeded: 'DEADLINE_EXCEEDED',
  Canceled: 'CANCELLED',
  ResourceExhausted: 'RESOURCE_EXHAUSTED',
  PermissionDenied: 'PERMISSION_DENIED',
  Unimplemented: 'UNIMPLEMENTED',
  ImageNotFound: 'NOT_FOUND',
  InvalidImageName: 'INVALID_ARGUMENT',
  RegistryUnavailable: 'UNAVAILABLE',
  SignatureValidationFailed: 'UNKNOWN',
  ImagePull: 'UNKNOWN',
  Internal: 'INTERNAL',
};

/** Kubelets recognize these failures of a pull by the beginning of the message. */
const PREFIXED: ReadonlySet<CriErrorReason> = new Set([
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);

/** Returns the error that the caller of a method gets. */
export function toRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  if (!(error instanceof CriError))
    return new RpcError('UNKNOWN', errorMessage(error), { cause: error });
  const { reason, message } = error;
  const text = PREFIXED.has(reason) ? `${reason}: ${message}` : message;
  return new RpcError(CODES[reason], text, { cause: error });
}
