// Tables of objects about storage, access, admission, devices and the cluster itself, with full
// statuses.

import type { Call } from './call.ts';
import { condition, type Row, rowCalls } from './tables.ts';

const row = (
  apiVersion: string,
  kind: string,
  plural: string,
  more: Omit<Row, 'path' | 'apiVersion' | 'kind'> & { readonly isOfCluster?: true } = {},
): Row => {
  const { isOfCluster, ...rest } = more;
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const path = `${root}${isOfCluster === true ? '' : '/namespaces/default'}/${plural}`;
  return { path, apiVersion, kind, ...rest };
};
const ofCluster = { isOfCluster: true } as const;

const volume = (spec: object, statuses: readonly object[] = []): Row =>
  row('v1', 'PersistentVolume', 'persistentvolumes', {
    ...ofCluster,
    content: {
      spec: {
        capacity: { storage: '5Gi' },
        accessModes: ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany'],
        hostPath: { path: '/x' },
        ...spec,
      },
    },
    statuses,
  });
const storage: readonly Row[] = [
  volume({ claimRef: { namespace: 'a', name: 'b' }, storageClassName: 'c', volumeMode: 'Block' }, [
    { phase: 'Released', reason: 'why', message: 'm' },
    { phase: 'Failed', reason: null },
  ]),
  volume({ persistentVolumeReclaimPolicy: 'Delete', volumeAttributesClassName: 'v' }),
  row('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', {
    content: {
      spec: {
        accessModes: ['ReadWriteOncePod'],
        resources: { requests: { storage: '1Gi' } },
        volumeName: 'v',
        storageClassName: 'c',
        volumeAttributesClassName: 'g',
      },
    },
    statuses: [
      { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '2Gi' } },
      { phase: 'Lost', conditions: [condition('Resizing', 'True')] },
    ],
  }),
  row('storage.k8s.io/v1', 'StorageClass', 'storageclasses', {
    ...ofCluster,
    metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    content: {
      provisioner: 'p',
      allowVolumeExpansion: true,
      volumeBindingMode: 'WaitForFirstConsumer',
    },
  }),
  row('storage.k8s.io/v1', 'VolumeAttachment', 'volumeattachments', {
    ...ofCluster,
    content: { spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'p' } } },
    statuses: [{ attached: true }, { attached: false, attachError: { message: 'm' } }],
  }),
  row('storage.k8s.io/v1', 'CSIDriver', 'csidrivers', {
    ...ofCluster,
    content: {
      spec: {
        attachRequired: false,
        podInfoOnMount: true,
        storageCapacity: true,
        tokenRequests: [{ audience: 'a' }, { audience: '' }],
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      },
    },
  }),
  row('storage.k8s.io/v1', 'CSINode', 'csinodes', {
    ...ofCluster,
    content: { spec: { drivers: [{ name: 'a', nodeID: 'x', topologyKeys: [] }] } },
  }),
  row('storage.k8s.io/v1', 'CSIStorageCapacity', 'csistoragecapacities', {
    content: { storageClassName: 'c', capacity: '1Gi', maximumVolumeSize: '500Mi' },
  }),
  row('storage.k8s.io/v1', 'VolumeAttributesClass', 'volumeattributesclasses', {
    ...ofCluster,
    content: { driverName: 'd', parameters: { a: 'b' } },
  }),
];

const RBAC = 'rbac.authorization.k8s.io';
const subjects = [
  { kind: 'User', name: 'u', apiGroup: RBAC },
  { kind: 'Group', name: 'g', apiGroup: RBAC },
  { kind: 'Group', name: 'h', apiGroup: RBAC },
  { kind: 'ServiceAccount', name: 's', namespace: 'n' },
];
const access: readonly Row[] = [
  row(`${RBAC}/v1`, 'RoleBinding', 'rolebindings', {
    content: { roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'view' }, subjects },
  }),
  row(`${RBAC}/v1`, 'ClusterRoleBinding', 'clusterrolebindings', {
    ...ofCluster,
    content: { roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'none' }, subjects: [] },
  }),
  row('v1', 'ServiceAccount', 'serviceaccounts', {
    content: { secrets: [{ name: 'a' }, { name: 'b' }] },
  }),
  row('v1', 'Secret', 'secrets', {
    content: { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': 'e30=' } },
  }),
  row('v1', 'ConfigMap', 'configmaps', {
    content: { data: { a: 'b' }, binaryData: { c: 'YQ==' } },
  }),
  row('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', {
    content: {
      spec: {
        podSelector: {
          matchLabels: { a: 'b' },
          matchExpressions: [{ key: 'c', operator: 'NotIn', values: ['d', 'e'] }],
        },
      },
    },
  }),
  row('networking.k8s.io/v1', 'IngressClass', 'ingressclasses', {
    ...ofCluster,
    content: {
      spec: { controller: 'example.com/c', parameters: { apiGroup: 'g', kind: 'K', name: 'n' } },
    },
  }),
  row('coordination.k8s.io/v1', 'Lease', 'leases', { content: { spec: { holderIdentity: 'me' } } }),
  row('node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses', {
    ...ofCluster,
    content: { handler: 'h' },
  }),
  row('scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses', {
    ...ofCluster,
    content: { value: -5, preemptionPolicy: 'Never', globalDefault: false },
  }),
];

const matchConstraints = {
  resourceRules: [
    { apiGroups: ['x'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] },
  ],
};
const hook = (name: string): object => ({
  name,
  clientConfig: { url: 'https://x.example.com' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  failurePolicy: 'Ignore',
});
const ADMISSION = 'admissionregistration.k8s.io/v1';
const admission: readonly Row[] = [
  row(ADMISSION, 'ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', {
    ...ofCluster,
    content: { webhooks: [hook('a.example.com'), hook('b.example.com')] },
  }),
  row(ADMISSION, 'MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', {
    ...ofCluster,
    content: { webhooks: [] },
  }),
  row(ADMISSION, 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies', {
    ...ofCluster,
    content: {
      spec: {
        matchConstraints,
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        validations: [{ expression: 'true' }, { expression: 'true' }],
      },
    },
  }),
  row(ADMISSION, 'ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings', {
    ...ofCluster,
    content: {
      spec: {
        policyName: 'p',
        validationActions: ['Deny'],
        paramRef: { name: 'a', namespace: 'b', parameterNotFoundAction: 'Deny' },
      },
    },
  }),
  row(ADMISSION, 'MutatingAdmissionPolicy', 'mutatingadmissionpolicies', {
    ...ofCluster,
    content: {
      spec: {
        matchConstraints,
        reinvocationPolicy: 'IfNeeded',
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: { expression: '[JSONPatch{op: "add", path: "/a", value: 1}]' },
          },
        ],
      },
    },
  }),
  row(
    'flowcontrol.apiserver.k8s.io/v1',
    'PriorityLevelConfiguration',
    'prioritylevelconfigurations',
    {
      ...ofCluster,
      content: {
        spec: {
          type: 'Limited',
          limited: {
            nominalConcurrencyShares: 3,
            limitResponse: {
              type: 'Queue',
              queuing: { queues: 4, handSize: 2, queueLengthLimit: 5 },
            },
          },
        },
      },
    },
  ),
  row(
    'flowcontrol.apiserver.k8s.io/v1',
    'PriorityLevelConfiguration',
    'prioritylevelconfigurations',
    {
      ...ofCluster,
      content: { spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } } },
    },
  ),
];

const devices = { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] };
const RESOURCE = 'resource.k8s.io/v1';
const others: readonly Row[] = [
  row(RESOURCE, 'ResourceClaim', 'resourceclaims', {
    content: { spec: { devices } },
    statuses: [
      {
        allocation: {
          devices: { results: [{ request: 'r', driver: 'd.example.com', pool: 'p', device: 'x' }] },
        },
      },
      { reservedFor: [{ resource: 'pods', name: 'p', uid: 'u' }] },
    ],
  }),
  row(RESOURCE, 'DeviceClass', 'deviceclasses', { ...ofCluster, content: { spec: {} } }),
  row(RESOURCE, 'ResourceSlice', 'resourceslices', {
    ...ofCluster,
    content: {
      spec: {
        driver: 'd.example.com',
        nodeName: 'n',
        pool: { name: 'p', resourceSliceCount: 1 },
        devices: [{ name: 'a' }],
      },
    },
  }),
  row('certificates.k8s.io/v1', 'ClusterTrustBundle', 'clustertrustbundles', ofCluster),
  row('v1', 'ResourceQuota', 'resourcequotas', {
    content: {
      spec: { hard: { pods: '5', 'limits.cpu': '2', 'requests.cpu': '1', 'count/secrets': '9' } },
    },
    statuses: [
      {
        hard: { pods: '5', 'limits.cpu': '2', 'requests.cpu': '1', 'count/secrets': '9' },
        used: { pods: '1', 'limits.cpu': '500m' },
      },
    ],
  }),
  row('v1', 'LimitRange', 'limitranges', {
    content: { spec: { limits: [{ type: 'Pod', max: { cpu: '1' } }] } },
  }),
  row('v1', 'PodTemplate', 'podtemplates', {
    content: {
      template: {
        metadata: { labels: { b: 'c', a: 'b' } },
        spec: {
          containers: [
            { name: 'c', image: 'i' },
            { name: 'd', image: 'j' },
          ],
        },
      },
    },
  }),
  row('apps/v1', 'ControllerRevision', 'controllerrevisions', {
    metadata: {
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'u', controller: true },
      ],
    },
    content: { revision: 4, data: { a: 1 } },
  }),
  row('v1', 'Event', 'events', {
    content: {
      involvedObject: {
        kind: 'Pod',
        namespace: 'default',
        name: 'p',
        fieldPath: 'spec.containers{c}',
      },
      reason: 'R',
      message: ' many\n words ',
      type: 'Warning',
      count: 7,
      source: { component: 'kubelet', host: 'n1' },
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:01:00Z',
    },
  }),
  row('events.k8s.io/v1', 'Event', 'events', {
    content: {
      regarding: { kind: 'Node', name: 'n' },
      related: { kind: 'Pod', name: 'p' },
      action: 'A',
      reason: 'R',
      note: 'n',
      type: 'Normal',
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'example.com/c',
      reportingInstance: 'i',
      series: { count: 3, lastObservedTime: '2026-01-01T00:02:00.000000Z' },
    },
  }),
  row('apiregistration.k8s.io/v1', 'APIService', 'apiservices', ofCluster),
];

export const clusterTableCalls: readonly Call[] = [
  ...storage,
  ...access,
  ...admission,
  ...others,
].flatMap(rowCalls);
