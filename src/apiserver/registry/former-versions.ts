// Versions that upstream's API servers still read from etcd, where earlier releases have stored
// objects in them, though none serves them any more. Only versions whose types have the fields of
// v1 are here, with the same numbers in protobuf.

import { allSchemas } from '#api/all-schemas.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import type { GroupVersionKind, MessageDescriptor } from '#api/machinery/descriptor.ts';
import { parseApiVersion } from '#api/machinery/scheme.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { functionConverter, type ObjectConverter } from './object-converter.ts';

type Members = Readonly<Record<string, unknown>>;

/** Kinds by group and version. */
const FORMER: Readonly<Record<string, string>> = {
  'admissionregistration.k8s.io/v1alpha1':
    'MutatingAdmissionPolicy MutatingAdmissionPolicyBinding ValidatingAdmissionPolicy ' +
    'ValidatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/v1beta1':
    'MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ' +
    'ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration',
  'apiregistration.k8s.io/v1beta1': 'APIService',
  'apps/v1beta1': 'ControllerRevision StatefulSet',
  'apps/v1beta2': 'ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet',
  'batch/v1beta1': 'CronJob',
  'coordination.k8s.io/v1beta1': 'Lease',
  'flowcontrol.apiserver.k8s.io/v1beta1': 'FlowSchema',
  'flowcontrol.apiserver.k8s.io/v1beta2': 'FlowSchema',
  'flowcontrol.apiserver.k8s.io/v1beta3': 'FlowSchema',
  'networking.k8s.io/v1beta1': 'IngressClass IPAddress ServiceCIDR',
  'node.k8s.io/v1beta1': 'RuntimeClass',
  'policy/v1beta1': 'PodDisruptionBudget',
  'rbac.authorization.k8s.io/v1beta1': 'ClusterRole ClusterRoleBinding Role RoleBinding',
  'scheduling.k8s.io/v1beta1': 'PriorityClass',
  'storage.k8s.io/v1alpha1': 'CSIStorageCapacity VolumeAttachment VolumeAttributesClass',
  'storage.k8s.io/v1beta1':
    'CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass',
};

const isFormer = (apiVersion: string, kind: string): boolean =>
  ownValue(FORMER, apiVersion)?.split(' ').includes(kind) === true;

/** Returns the type of v1 in the place of that of a former version; undefined for any other version. */
export function formerMessage(apiVersion: string, kind: string): MessageDescriptor | undefined {
  const groupVersion = isFormer(apiVersion, kind) ? parseApiVersion(apiVersion) : undefined;
  return groupVersion && messageOf({ group: groupVersion.group, version: 'v1', kind });
}

/** Returns a converter of stored objects from the former versions of a kind; undefined if it has none. */
export function formerVersionsConverter(type: GroupVersionKind): ObjectConverter | undefined {
  const { group, version, kind } = type;
  const versions = Object.keys(FORMER).filter(
    (apiVersion) =>
      version === 'v1' && apiVersion.startsWith(`${group}/`) && isFormer(apiVersion, kind),
  );
  if (versions.length === 0) return undefined;
  const normalize = (object: Members): object => {
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
    const message = messageOf(type);
    const decoded = message === undefined ? rest : decodeObject(message, rest).object;
    return kind === 'PodDisruptionBudget' ? withSelectorOfV1(decoded) : decoded;
  };
  return functionConverter(
    Object.fromEntries(versions.map((former) => [former, { [`${group}/v1`]: normalize }])),
  );
}

const messageOf = (kind: GroupVersionKind): MessageDescriptor | undefined =>
  allSchemas.lookup(kind)?.message;

/**
 * In policy/v1beta1 an empty selector matched no pods, and one with this label all: in v1 the empty
 * one matches all. See pkg/apis/policy/v1beta1/conversion.go.
 */
const SELECTOR_LABEL = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match';
const MATCH_NONE = { matchExpressions: [{ key: SELECTOR_LABEL, operator: 'Exists' }] };

interface Budget {
  readonly spec?: { readonly selector?: Selector };
}

interface Selector {
  readonly matchLabels?: object;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
  }[];
}

function withSelectorOfV1(budget: Budget): Budget {
  const { selector } = budget.spec ?? {};
  if (selector === undefined) return budget;
  const expressions = selector.matchExpressions ?? [];
  const labels = Object.keys(selector.matchLabels ?? {}).length;
  const [only] = expressions;
  const isOnly = labels === 0 && expressions.length === 1 && only?.key === SELECTOR_LABEL;
  if (labels === 0 && expressions.length === 0) return withSelector(budget, MATCH_NONE);
  return isOnly && only.operator === 'DoesNotExist' ? withSelector(budget, {}) : budget;
}

const withSelector = (budget: Budget, selector: Selector): Budget => ({
  ...budget,
  spec: { ...budget.spec, selector },
});
