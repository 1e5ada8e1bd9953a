// The kinds of configuration files, and of reviews about them. They are not part of the API: no
// server serves them.

import { schema as apiserverV1 } from './config/apiserver/v1/schema.ts';
import { schema as coreV1 } from './groups/core/v1/schema.ts';
import { schema as auditV1 } from './config/audit/v1/schema.ts';
import { schema as eventratelimitV1alpha1 } from './config/eventratelimit/v1alpha1/schema.ts';
import { schema as imagepolicyV1alpha1 } from './config/imagepolicy/v1alpha1/schema.ts';
import { schema as podSecurityV1 } from './config/pod-security/v1/schema.ts';
import { schema as podtolerationrestrictionV1alpha1 } from './config/podtolerationrestriction/v1alpha1/schema.ts';
import { schema as metaV1 } from './machinery/meta/v1/schema.ts';
import { SchemaSet } from './machinery/schema/schema-set.ts';

/** The last ones are those of the API to which the files' types refer. */
export const configurationSchemas = new SchemaSet([
  apiserverV1,
  auditV1,
  eventratelimitV1alpha1,
  imagepolicyV1alpha1,
  podSecurityV1,
  podtolerationrestrictionV1alpha1,
  coreV1,
  metaV1,
]);
