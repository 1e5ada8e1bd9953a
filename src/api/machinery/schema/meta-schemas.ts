// The types that all groups share. They belong to the machinery, which does not depend on any
// group.

import { schema as metaV1 } from '../meta/v1/schema.ts';
import { SchemaSet } from './schema-set.ts';

export const metaSchemas = new SchemaSet([metaV1]);
