// Every built-in group and version, in the order in which discovery lists the groups. The last
// three are not served as groups: they contain the types that all groups share, discovery documents
// and webhook reviews.

import { schema as admissionV1 } from './groups/admission/v1/schema.ts';
import { schema as admissionregistrationV1 } from './groups/admissionregistration/v1/schema.ts';
import { schema as apidiscoveryV2 } from './groups/apidiscovery/v2/schema.ts';
import { schema as apiextensionsV1 } from './groups/apiextensions/v1/schema.ts';
import { schema as apiregistrationV1 } from './groups/apiregistration/v1/schema.ts';
import { schema as appsV1 } from './groups/apps/v1/schema.ts';
import { schema as authenticationV1 } from './groups/authentication/v1/schema.ts';
import { schema as authorizationV1 } from './groups/authorization/v1/schema.ts';
import { schema as autoscalingV1 } from './groups/autoscaling/v1/schema.ts';
import { schema as autoscalingV2 } from './groups/autoscaling/v2/schema.ts';
import { schema as batchV1 } from './groups/batch/v1/schema.ts';
import { schema as certificatesV1 } from './groups/certificates/v1/schema.ts';
import { schema as coordinationV1 } from './groups/coordination/v1/schema.ts';
import { schema as coreV1 } from './groups/core/v1/schema.ts';
import { schema as discoveryV1 } from './groups/discovery/v1/schema.ts';
import { schema as eventsV1 } from './groups/events/v1/schema.ts';
import { schema as flowcontrolV1 } from './groups/flowcontrol/v1/schema.ts';
import { schema as metaV1 } from './machinery/meta/v1/schema.ts';
import { schema as metricsV1beta1 } from './groups/metrics/v1beta1/schema.ts';
import { schema as networkingV1 } from './groups/networking/v1/schema.ts';
import { schema as nodeV1 } from './groups/node/v1/schema.ts';
import { schema as policyV1 } from './groups/policy/v1/schema.ts';
import { schema as rbacV1 } from './groups/rbac/v1/schema.ts';
import { schema as resourceV1 } from './groups/resource/v1/schema.ts';
import { schema as resourceV1beta1 } from './groups/resource/v1beta1/schema.ts';
import { schema as resourceV1beta2 } from './groups/resource/v1beta2/schema.ts';
import { schema as schedulingV1 } from './groups/scheduling/v1/schema.ts';
import { schema as storageV1 } from './groups/storage/v1/schema.ts';
import { schema as storagemigrationV1beta1 } from './groups/storagemigration/v1beta1/schema.ts';
import { SchemaSet } from './machinery/schema/schema-set.ts';

export const allSchemas = new SchemaSet([
  coreV1,
  apiregistrationV1,
  appsV1,
  eventsV1,
  authenticationV1,
  authorizationV1,
  autoscalingV2,
  autoscalingV1,
  batchV1,
  certificatesV1,
  networkingV1,
  policyV1,
  rbacV1,
  storageV1,
  admissionregistrationV1,
  apiextensionsV1,
  schedulingV1,
  coordinationV1,
  nodeV1,
  discoveryV1,
  flowcontrolV1,
  resourceV1,
  resourceV1beta2,
  resourceV1beta1,
  storagemigrationV1beta1,
  metricsV1beta1,
  metaV1,
  apidiscoveryV2,
  admissionV1,
]);
