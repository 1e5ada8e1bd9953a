// Every type of admission.k8s.io/v1: the only list of their fields. `npm run generate` makes
// types.ts and index.ts from it.

import {
  atomic,
  f,
  groupVersion,
  kind,
  openEnum,
  message,
  optional,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('admission.k8s.io', 'v1', 'io.k8s.api.admission.v1', {
  AdmissionReview: kind(() => [
    f('request?', 1, '*AdmissionRequest'),
    f('response?', 2, '*AdmissionResponse'),
  ]),
  AdmissionRequest: message(() => [
    f('uid', 1, 'string', optional),
    f('kind', 2, 'meta/v1.GroupVersionKind', optional),
    f('resource', 3, 'meta/v1.GroupVersionResource', optional),
    f('subResource?', 4, 'string'),
    f('requestKind?', 13, '*meta/v1.GroupVersionKind'),
    f('requestResource?', 14, '*meta/v1.GroupVersionResource'),
    f('requestSubResource?', 15, 'string'),
    f('name?', 5, 'string'),
    f('namespace?', 6, 'string'),
    f('operation', 7, 'Operation', optional),
    f('userInfo', 8, 'authentication/v1.UserInfo', optional),
    f('object?', 9, 'rawExtension'),
    f('oldObject?', 10, 'rawExtension'),
    f('dryRun?', 11, '*bool'),
    f('options?', 12, 'rawExtension'),
  ]),
  AdmissionResponse: message(() => [
    f('uid', 1, 'string', optional),
    f('allowed', 2, 'bool', optional),
    f('status?', 3, '*meta/v1.Status'),
    f('patch?', 4, 'bytes'),
    f('patchType?', 5, '*PatchType'),
    f('auditAnnotations?', 6, '{}string'),
    f('warnings?', 7, '[]string', atomic),
  ]),
  PatchType: openEnum('JSONPatch'),
  Operation: openEnum('CREATE', 'UPDATE', 'DELETE', 'CONNECT'),
});
