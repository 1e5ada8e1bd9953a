// Every type of resource.k8s.io/v1beta2: those of v1. `npm run generate` makes types.ts and index.ts
// from it.

import { groupVersion } from '#api/machinery/schema/builder.ts';
import { types } from '../v1/schema.ts';

export const schema = groupVersion(
  'resource.k8s.io',
  'v1beta2',
  'io.k8s.api.resource.v1beta2',
  types,
);
