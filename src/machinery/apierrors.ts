// The errors of the API. A StatusError carries the Status object that goes over the wire, so a
// client gets the same error whether it calls in-process or over HTTP. Meant for `import * as
// apierrors`.
//
// Codes, reasons and messages are those of upstream's apimachinery (pkg/api/errors).

export * from './apierrors/failures.ts';
export { type GenericServerResponse, genericServerResponse } from './apierrors/generic-response.ts';
export * from './apierrors/predicates.ts';
export { isErrorCode, receivedStatus, watchError } from './apierrors/received.ts';
export {
  fromStatus,
  type GroupKind,
  type GroupResource,
  type Status,
  STATUS_REASONS,
  type StatusCause,
  type StatusDetails,
  StatusError,
  type StatusReason,
} from './apierrors/status.ts';
