// The Scheme of all built-in kinds, with their defaults and conversions. Each group has its own
// beside its schema; this file has one entry for each group and version.

import { defaulters as admissionregistrationV1 } from './groups/admissionregistration/v1/defaults.ts';
import { defaulters as apiextensionsV1 } from './groups/apiextensions/v1/defaults.ts';
import { defaulters as apiregistrationV1 } from './groups/apiregistration/v1/defaults.ts';
import { defaulters as appsV1 } from './groups/apps/v1/defaults.ts';
import { defaulters as authenticationV1 } from './groups/authentication/v1/defaults.ts';
import { defaulters as autoscalingV1 } from './groups/autoscaling/v1/defaults.ts';
import { defaulters as autoscalingV2 } from './groups/autoscaling/v2/defaults.ts';
import { defaulters as batchV1 } from './groups/batch/v1/defaults.ts';
import { defaulters as coreV1 } from './groups/core/v1/defaults.ts';
import { defaulters as discoveryV1 } from './groups/discovery/v1/defaults.ts';
import { defaulters as flowcontrolV1 } from './groups/flowcontrol/v1/defaults.ts';
import { defaulters as networkingV1 } from './groups/networking/v1/defaults.ts';
import { defaulters as rbacV1 } from './groups/rbac/v1/defaults.ts';
import { defaulters as resourceV1 } from './groups/resource/v1/defaults.ts';
import { defaulters as resourceV1beta1 } from './groups/resource/v1beta1/defaults.ts';
import { defaulters as schedulingV1 } from './groups/scheduling/v1/defaults.ts';
import { defaulters as storageV1 } from './groups/storage/v1/defaults.ts';
import { conversions as autoscalerConversions } from './groups/autoscaling/v1/conversion.ts';
import { conversions as eventConversions } from './groups/events/v1/conversion.ts';
import {
  deviceClassConversions,
  resourceClaimConversions,
  resourceClaimTemplateConversions,
  resourceSliceConversions,
} from './groups/resource/v1beta1/conversion.ts';
import { parseApiVersion, Scheme, type Conversions, type Defaulters } from './machinery/scheme.ts';
import type { GroupVersionKind } from './machinery/descriptor.ts';
import { allSchemas } from './all-schemas.ts';

/** Defaulters by apiVersion. Exported for tests. */
export const DEFAULTERS: Readonly<Record<string, Defaulters>> = {
  'admissionregistration.k8s.io/v1': admissionregistrationV1,
  'apiextensions.k8s.io/v1': apiextensionsV1,
  'apiregistration.k8s.io/v1': apiregistrationV1,
  'apps/v1': appsV1,
  'authentication.k8s.io/v1': authenticationV1,
  'autoscaling/v1': autoscalingV1,
  'autoscaling/v2': autoscalingV2,
  'batch/v1': batchV1,
  v1: coreV1,
  'discovery.k8s.io/v1': discoveryV1,
  'flowcontrol.apiserver.k8s.io/v1': flowcontrolV1,
  'networking.k8s.io/v1': networkingV1,
  'rbac.authorization.k8s.io/v1': rbacV1,
  'resource.k8s.io/v1': resourceV1,
  'resource.k8s.io/v1beta1': resourceV1beta1,
  // The types of v1beta2 are those of v1.
  'resource.k8s.io/v1beta2': resourceV1,
  'scheduling.k8s.io/v1': schedulingV1,
  'storage.k8s.io/v1': storageV1,
};

/** Conversions by kind. */
const CONVERSIONS: Readonly<Record<string, Conversions>> = {
  DeviceClass: deviceClassConversions,
  Event: eventConversions,
  HorizontalPodAutoscaler: autoscalerConversions,
  ResourceClaim: resourceClaimConversions,
  ResourceClaimTemplate: resourceClaimTemplateConversions,
  ResourceSlice: resourceSliceConversions,
};

/** Returns a new Scheme. Registrations in it do not affect others. */
export function newDefaultScheme(): Scheme {
  const scheme = new Scheme(allSchemas);
  for (const [apiVersion, defaulters] of Object.entries(DEFAULTERS)) {
    for (const [kind, defaulter] of Object.entries(defaulters))
      scheme.addDefaulter(kindIn(apiVersion, kind), defaulter);
  }
  for (const [kind, conversions] of Object.entries(CONVERSIONS)) {
    for (const [from, targets] of Object.entries(conversions)) {
      for (const [to, convert] of Object.entries(targets)) {
        scheme.addConversion(kindIn(from, kind), kindIn(to, kind), convert);
      }
    }
  }
  return scheme;
}

function kindIn(apiVersion: string, kind: string): GroupVersionKind {
  const parsed = parseApiVersion(apiVersion);
  if (parsed === undefined) throw new Error(`not an apiVersion: ${apiVersion}`);
  return { ...parsed, kind };
}
