// The fields that field selectors may name, per kind, beyond metadata.name and metadata.namespace.

import type { GroupVersionKind } from './machinery/descriptor.ts';

interface FieldLabels {
  readonly gvk: GroupVersionKind;
  readonly labels: readonly string[];
  /** The labels by which objects are indexed: lists and watches of one value do not visit objects with other values. */
  readonly indexed?: readonly string[];
  /** Old names. */
  readonly renamed?: Readonly<Record<string, string>>;
}

function core(kind: string): GroupVersionKind {
  return { group: '', version: 'v1', kind };
}

export const fieldLabels: readonly FieldLabels[] = [
  {
    gvk: core('Pod'),
    labels: [
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'spec.hostNetwork',
      'status.phase',
      'status.podIP',
      'status.podIPs',
      'status.nominatedNodeName',
    ],
    // One kubelet for each node follows the pods of that node.
    indexed: ['spec.nodeName'],
    renamed: { 'spec.host': 'spec.nodeName' },
  },
  { gvk: { group: 'resource.k8s.io', version: 'v1', kind: 'ResourceSlice' }, labels: ['spec.nodeName', 'spec.driver'] },
  { gvk: core('Node'), labels: ['spec.unschedulable'] },
  { gvk: core('ReplicationController'), labels: ['status.replicas'] },
  { gvk: core('Namespace'), labels: ['status.phase'] },
  { gvk: core('Secret'), labels: ['type'] },
  { gvk: core('Service'), labels: ['spec.clusterIP', 'spec.type'] },
  {
    gvk: core('Event'),
    labels: [
      'involvedObject.kind',
      'involvedObject.namespace',
      'involvedObject.name',
      'involvedObject.uid',
      'involvedObject.apiVersion',
      'involvedObject.resourceVersion',
      'involvedObject.fieldPath',
      'reason',
      'reportingComponent',
      'source',
      'type',
    ],
  },
  {
    gvk: { group: 'events.k8s.io', version: 'v1', kind: 'Event' },
    labels: [
      'regarding.kind',
      'regarding.namespace',
      'regarding.name',
      'regarding.uid',
      'regarding.apiVersion',
      'regarding.resourceVersion',
      'regarding.fieldPath',
      'reason',
      'reportingController',
      'type',
    ],
  },
  { gvk: { group: 'apps', version: 'v1', kind: 'ReplicaSet' }, labels: ['status.replicas'] },
  { gvk: { group: 'batch', version: 'v1', kind: 'Job' }, labels: ['status.successful'] },
  { gvk: { group: 'certificates.k8s.io', version: 'v1', kind: 'CertificateSigningRequest' }, labels: ['spec.signerName'] },
];

/** The labels by which objects of the kind are indexed, beside metadata.name and metadata.namespace. */
export function indexedFieldLabels({ group, kind }: { readonly group: string; readonly kind: string }): readonly string[] {
  return fieldLabels.find(({ gvk }) => gvk.group === group && gvk.kind === kind)?.indexed ?? [];
}

/** The label that a selector means, or undefined. */
export function resolveFieldLabel(known: FieldLabels, label: string): string | undefined {
  const renamed = known.renamed !== undefined && Object.hasOwn(known.renamed, label) ? known.renamed[label] : label;
  return renamed !== undefined && known.labels.includes(renamed) ? renamed : undefined;
}
