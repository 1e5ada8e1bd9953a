// Converts gRPC errors of a CRI runtime to CriErrors.

import { type ServiceError, status } from '@grpc/grpc-js';
import { CriError, type CriErrorReason } from '#cri/index.ts';
import { errorMessage } from '#machinery/error-message.ts';

const reasons: Readonly<Partial<Record<status, CriErrorReason>>> = {
  [status.CANCELLED]: 'Canceled',
  [status.INVALID_ARGUMENT]: 'InvalidArgument',
  [status.DEADLINE_EXCEEDED]: 'DeadlineExceeded',
  [status.NOT_FOUND]: 'NotFound',
  [status.ALREADY_EXISTS]: 'AlreadyExists',
  [status.PERMISSION_DENIED]: 'PermissionDenied',
  [status.RESOURCE_EXHAUSTED]: 'ResourceExhausted',
  [status.FAILED_PRECONDITION]: 'FailedPrecondition',
  [status.UNIMPLEMENTED]: 'Unimplemented',
  [status.UNAVAILABLE]: 'Unavailable',
};

/** Runtimes return UNKNOWN for many errors with a specific code, so their messages are matched. */
const words: readonly (readonly [RegExp, CriErrorReason])[] = [
  [/is reserved for/, 'AlreadyExists'],
  [/context deadline exceeded|timed? ?out/i, 'DeadlineExceeded'],
  [
    /is in CONTAINER_\w+ state|is not running|container is (?:not )?in \w+ state|must be in/i,
    'FailedPrecondition',
  ],
  [
    /no space left on device|cannot allocate memory|resource temporarily unavailable/i,
    'ResourceExhausted',
  ],
  [/\bnot found\b/, 'NotFound'],
];

function isServiceError(err: unknown): err is ServiceError {
  return err instanceof Error && typeof (err as Partial<ServiceError>).code === 'number';
}

/** Returns the error of a call to the runtime. */
export function fromGrpc(err: unknown): CriError {
  if (err instanceof CriError) return err;
  if (!isServiceError(err)) return new CriError('Internal', errorMessage(err), { cause: err });
  const message = err.details || err.message;
  const named =
    reasons[err.code] ?? words.find(([pattern]) => pattern.test(message))?.[1] ?? 'Internal';
  return new CriError(named, message, { cause: err });
}

/** Returns the error of a pull, with one of the image reasons. */
export function fromPullError(err: unknown): CriError {
  const error = fromGrpc(err);
  const { message } = error;
  if (
    message.startsWith('RegistryUnavailable') ||
    /dial tcp|no such host|i\/o timeout|connection refused/i.test(message)
  ) {
    return new CriError('RegistryUnavailable', message, { cause: err });
  }
  if (message.startsWith('SignatureValidationFailed'))
    return new CriError('SignatureValidationFailed', message, { cause: err });
  if (error.reason === 'InvalidArgument' || /invalid reference format/i.test(message)) {
    return new CriError('InvalidImageName', message, { cause: err });
  }
  if (error.reason === 'NotFound') return new CriError('ImageNotFound', message, { cause: err });
  if (
    error.reason === 'Unavailable' ||
    error.reason === 'DeadlineExceeded' ||
    error.reason === 'Unimplemented'
  )
    return error;
  return new CriError('ImagePull', message, { cause: err });
}
