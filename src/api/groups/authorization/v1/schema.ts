// Every type of authorization.k8s.io/v1: the only list of their fields. `npm run generate` makes
// types.ts and index.ts from it.

import { atomic, f, groupVersion, message, resource } from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('authorization.k8s.io', 'v1', 'io.k8s.api.authorization.v1', {
  SubjectAccessReview: resource(
    { resource: 'subjectaccessreviews', scope: 'Cluster', verbs: ['create'] },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('spec', 2, 'SubjectAccessReviewSpec'),
      f('status?', 3, 'SubjectAccessReviewStatus'),
    ],
  ),
  SelfSubjectAccessReview: resource(
    { resource: 'selfsubjectaccessreviews', scope: 'Cluster', verbs: ['create'] },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('spec', 2, 'SelfSubjectAccessReviewSpec'),
      f('status?', 3, 'SubjectAccessReviewStatus'),
    ],
  ),
  LocalSubjectAccessReview: resource(
    { resource: 'localsubjectaccessreviews', scope: 'Namespaced', verbs: ['create'] },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('spec', 2, 'SubjectAccessReviewSpec'),
      f('status?', 3, 'SubjectAccessReviewStatus'),
    ],
  ),
  ResourceAttributes: message(() => [
    f('namespace?', 1, 'string'),
    f('verb?', 2, 'string'),
    f('group?', 3, 'string'),
    f('version?', 4, 'string'),
    f('resource?', 5, 'string'),
    f('subresource?', 6, 'string'),
    f('name?', 7, 'string'),
    f('fieldSelector?', 8, '*FieldSelectorAttributes'),
    f('labelSelector?', 9, '*LabelSelectorAttributes'),
  ]),
  LabelSelectorAttributes: message(() => [
    f('rawSelector?', 1, 'string'),
    f('requirements?', 2, '[]meta/v1.LabelSelectorRequirement', atomic),
  ]),
  FieldSelectorAttributes: message(() => [
    f('rawSelector?', 1, 'string'),
    f('requirements?', 2, '[]meta/v1.FieldSelectorRequirement', atomic),
  ]),
  NonResourceAttributes: message(() => [f('path?', 1, 'string'), f('verb?', 2, 'string')]),
  SubjectAccessReviewSpec: message(() => [
    f('resourceAttributes?', 1, '*ResourceAttributes'),
    f('nonResourceAttributes?', 2, '*NonResourceAttributes'),
    f('user?', 3, 'string'),
    f('groups?', 4, '[]string', atomic),
    f('extra?', 5, '{}ExtraValue'),
    f('uid?', 6, 'string'),
  ]),
  ExtraValue: { alias: '[]string', protoMessage: true },
  SelfSubjectAccessReviewSpec: message(() => [
    f('resourceAttributes?', 1, '*ResourceAttributes'),
    f('nonResourceAttributes?', 2, '*NonResourceAttributes'),
  ]),
  SubjectAccessReviewStatus: message(() => [
    f('allowed', 1, 'bool'),
    f('denied?', 4, 'bool'),
    f('reason?', 2, 'string'),
    f('evaluationError?', 3, 'string'),
  ]),
  SelfSubjectRulesReview: resource(
    { resource: 'selfsubjectrulesreviews', scope: 'Cluster', verbs: ['create'] },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('spec', 2, 'SelfSubjectRulesReviewSpec'),
      f('status?', 3, 'SubjectRulesReviewStatus'),
    ],
  ),
  SelfSubjectRulesReviewSpec: message(() => [f('namespace?', 1, 'string')]),
  SubjectRulesReviewStatus: message(() => [
    f('resourceRules', 1, '[]ResourceRule', atomic),
    f('nonResourceRules', 2, '[]NonResourceRule', atomic),
    f('incomplete', 3, 'bool'),
    f('evaluationError?', 4, 'string'),
  ]),
  ResourceRule: message(() => [
    f('verbs', 1, '[]string', atomic),
    f('apiGroups?', 2, '[]string', atomic),
    f('resources?', 3, '[]string', atomic),
    f('resourceNames?', 4, '[]string', atomic),
  ]),
  NonResourceRule: message(() => [
    f('verbs', 1, '[]string', atomic),
    f('nonResourceURLs?', 2, '[]string', atomic),
  ]),
});
