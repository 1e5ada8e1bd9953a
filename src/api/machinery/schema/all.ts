// Every group and version that Coxswain knows, in the order in which discovery lists the groups; the last three are not
// served as groups: they hold what all groups share, discovery documents and webhook reviews.

import type { GroupVersionSchema } from './builder.ts';
import { schema as admissionV1 } from '#api/groups/admission/v1/schema.ts';
import { schema as admissionregistrationV1 } from '#api/groups/admissionregistration/v1/schema.ts';
import { schema as apidiscoveryV2 } from '#api/groups/apidiscovery/v2/schema.ts';
import { schema as apiextensionsV1 } from '#api/groups/apiextensions/v1/schema.ts';
import { schema as apiregistrationV1 } from '#api/groups/apiregistration/v1/schema.ts';
import { schema as appsV1 } from '#api/groups/apps/v1/schema.ts';
import { schema as authenticationV1 } from '#api/groups/authentication/v1/schema.ts';
import { schema as authorizationV1 } from '#api/groups/authorization/v1/schema.ts';
import { schema as autoscalingV1 } from '#api/groups/autoscaling/v1/schema.ts';
import { schema as autoscalingV2 } from '#api/groups/autoscaling/v2/schema.ts';
import { schema as batchV1 } from '#api/groups/batch/v1/schema.ts';
import { schema as certificatesV1 } from '#api/groups/certificates/v1/schema.ts';
import { schema as coordinationV1 } from '#api/groups/coordination/v1/schema.ts';
import { schema as coreV1 } from '#api/groups/core/v1/schema.ts';
import { schema as discoveryV1 } from '#api/groups/discovery/v1/schema.ts';
import { schema as eventsV1 } from '#api/groups/events/v1/schema.ts';
import { schema as flowcontrolV1 } from '#api/groups/flowcontrol/v1/schema.ts';
import { schema as metaV1 } from '../meta/v1/schema.ts';
import { schema as metricsV1beta1 } from '#api/groups/metrics/v1beta1/schema.ts';
import { schema as networkingV1 } from '#api/groups/networking/v1/schema.ts';
import { schema as nodeV1 } from '#api/groups/node/v1/schema.ts';
import { schema as policyV1 } from '#api/groups/policy/v1/schema.ts';
import { schema as rbacV1 } from '#api/groups/rbac/v1/schema.ts';
import { schema as resourceV1 } from '#api/groups/resource/v1/schema.ts';
import { schema as schedulingV1 } from '#api/groups/scheduling/v1/schema.ts';
import { schema as storageV1 } from '#api/groups/storage/v1/schema.ts';
import { schema as storagemigrationV1beta1 } from '#api/groups/storagemigration/v1beta1/schema.ts';

export const schemas: readonly GroupVersionSchema[] = [
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
  storagemigrationV1beta1,
  metricsV1beta1,
  metaV1,
  apidiscoveryV2,
  admissionV1,
];
