// The review of the admission plugin ImagePolicyWebhook: the only list of its fields. It is sent to a
// webhook and never served. `npm run generate` makes types.ts and index.ts.

import { f, groupVersion, kind, message } from '#api/machinery/schema/builder.ts';

export const schema = groupVersion(
  'imagepolicy.k8s.io',
  'v1alpha1',
  'io.k8s.api.imagepolicy.v1alpha1',
  {
    ImageReview: kind(() => [
      f('metadata', 1, 'meta/v1.ObjectMeta'),
      f('spec', 2, 'ImageReviewSpec'),
      f('status', 3, 'ImageReviewStatus'),
    ]),
    ImageReviewSpec: message(() => [
      f('containers?', 1, '[]ImageReviewContainerSpec'),
      f('annotations?', 2, '{}string'),
      f('namespace?', 3, 'string'),
    ]),
    ImageReviewContainerSpec: message(() => [f('image?', 1, 'string')]),
    ImageReviewStatus: message(() => [
      f('allowed', 1, 'bool'),
      f('reason?', 2, 'string'),
      f('auditAnnotations?', 3, '{}string'),
    ]),
  },
);
