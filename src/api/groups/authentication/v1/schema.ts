// Every type of authentication.k8s.io/v1: the only list of their fields. `npm run generate` makes
// types.ts and index.ts from it.

import {
  atomic,
  f,
  groupVersion,
  kind,
  message,
  optional,
  protoName,
  required,
  resource,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('authentication.k8s.io', 'v1', 'io.k8s.api.authentication.v1', {
  TokenReview: resource({ resource: 'tokenreviews', scope: 'Cluster', verbs: ['create'] }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('spec', 2, 'TokenReviewSpec'),
    f('status?', 3, 'TokenReviewStatus'),
  ]),
  TokenReviewSpec: message(() => [
    f('token?', 1, 'string', required),
    f('audiences?', 2, '[]string', atomic),
  ]),
  TokenReviewStatus: message(() => [
    f('authenticated?', 1, 'bool'),
    f('user?', 2, 'UserInfo'),
    f('audiences?', 4, '[]string', atomic),
    f('error?', 3, 'string'),
  ]),
  UserInfo: message(() => [
    f('username?', 1, 'string'),
    f('uid?', 2, 'string'),
    f('groups?', 3, '[]string', atomic),
    f('extra?', 4, '{}ExtraValue'),
  ]),
  ExtraValue: { alias: '[]string', protoMessage: true },
  TokenRequest: kind(() => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('spec', 2, 'TokenRequestSpec', optional),
    f('status?', 3, 'TokenRequestStatus'),
  ]),
  TokenRequestSpec: message(() => [
    f('audiences', 1, '[]string', optional, atomic),
    f('expirationSeconds', 4, '*int64', optional),
    f('boundObjectRef', 3, '*BoundObjectReference', optional),
  ]),
  TokenRequestStatus: message(() => [
    f('token', 1, 'string', optional),
    f('expirationTimestamp', 2, 'time', optional),
  ]),
  BoundObjectReference: message(() => [
    f('kind?', 1, 'string'),
    f('apiVersion?', 2, 'string'),
    f('name?', 3, 'string'),
    f('uid?', 4, 'string', protoName('uID')),
  ]),
  SelfSubjectReview: resource(
    { resource: 'selfsubjectreviews', scope: 'Cluster', verbs: ['create'] },
    () => [f('metadata?', 1, 'meta/v1.ObjectMeta'), f('status?', 2, 'SelfSubjectReviewStatus')],
  ),
  SelfSubjectReviewStatus: message(() => [f('userInfo?', 1, 'UserInfo')]),
});
