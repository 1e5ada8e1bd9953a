// One object of every kind that can be created, with only the required fields, for tests of all
// kinds with kubectl.

type Body = Readonly<Record<string, unknown>>;
type Entry = readonly [apiVersion: string, kind: string, resource: string, body?: Body];

const NAME = 'it';
const labels = { app: NAME };
const selector = { matchLabels: labels };
const container = { name: 'c', image: 'busybox' };
const template = { metadata: { labels }, spec: { containers: [container] } };
const jobSpec = { template: { spec: { restartPolicy: 'Never', containers: [container] } } };
const rule = {
  operations: ['CREATE'],
  apiGroups: ['other.example.com'],
  apiVersions: ['v1'],
  resources: ['things'],
};
const webhook = {
  name: 'hook.other.example.com',
  clientConfig: { url: 'https://other.example.com' },
  rules: [rule],
  failurePolicy: 'Ignore',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
};
const matchConstraints = { resourceRules: [rule] };
const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const devices = { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] };
const RBAC = 'rbac.authorization.k8s.io';

/** A request in PEM and base64, for O=it, CN=it. Its key is not stored anywhere. */
const SIGNING_REQUEST = [
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIVU1Id0NBUUF3R2pFTE1Ba0dBMVVFQ2d3Q2FYUXhDekFKQmdOVkJBTU1BbW',
  'wwTUZrd0V3WUhLb1pJemowQwpBUVlJS29aSXpqMERBUWNEUWdBRVB5YVNmUFdpTmRKRVhHZUdDaGdILy9lWUV5N2x5elNZK0Q0dVRuOTRsUU1D',
  'CnVGNzRPN2F6U25tb0dmUWp6azlmMEJFMGRDTVBkS3dZQkJkN3M4VXA3YUFBTUFvR0NDcUdTTTQ5QkFNQ0EwZ0EKTUVVQ0lBbE9rYkxlQ0grbn',
  'p3TXVCS1BLWUJPdWg0OCtBd1kvMXFZdStvUFRrTVkwQWlFQXdvK1hNa2JlRFpNTQpkdzhRd1JyTjZsdlRhNjc5NmhGMTFrYnZWWmE1UERzPQot',
  'LS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K',
].join('');

const KINDS: readonly Entry[] = [
  ['v1', 'ConfigMap', 'configmaps', { data: { a: 'b' } }],
  [
    'v1',
    'Endpoints',
    'endpoints',
    { subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }] },
  ],
  [
    'v1',
    'Event',
    'events',
    {
      involvedObject: { kind: 'Pod', name: NAME, namespace: 'default' },
      reason: 'It',
      type: 'Normal',
    },
  ],
  [
    'v1',
    'LimitRange',
    'limitranges',
    { spec: { limits: [{ type: 'PersistentVolumeClaim', max: { storage: '1Ti' } }] } },
  ],
  ['v1', 'Namespace', 'namespaces'],
  ['v1', 'Node', 'nodes', { spec: { unschedulable: true } }],
  [
    'v1',
    'PersistentVolume',
    'persistentvolumes',
    {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/tmp/it' },
        storageClassName: 'it',
      },
    },
  ],
  [
    'v1',
    'PersistentVolumeClaim',
    'persistentvolumeclaims',
    { spec: { ...claimSpec, storageClassName: 'nobody' } },
  ],
  ['v1', 'Pod', 'pods', { spec: { containers: [container] } }],
  ['v1', 'PodTemplate', 'podtemplates', { template }],
  [
    'v1',
    'ReplicationController',
    'replicationcontrollers',
    { spec: { replicas: 0, selector: labels, template } },
  ],
  ['v1', 'ResourceQuota', 'resourcequotas', { spec: { hard: { secrets: '100' } } }],
  ['v1', 'Secret', 'secrets', { data: { a: 'Yg==' } }],
  ['v1', 'Service', 'services', { spec: { ports: [{ port: 80 }] } }],
  ['v1', 'ServiceAccount', 'serviceaccounts'],
  [
    'admissionregistration.k8s.io/v1',
    'MutatingWebhookConfiguration',
    'mutatingwebhookconfigurations',
    { webhooks: [webhook] },
  ],
  [
    'admissionregistration.k8s.io/v1',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
    { webhooks: [webhook] },
  ],
  [
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicy',
    'validatingadmissionpolicies',
    { spec: { matchConstraints, validations: [{ expression: 'true' }] } },
  ],
  [
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    { spec: { policyName: NAME, validationActions: ['Audit'] } },
  ],
  [
    'admissionregistration.k8s.io/v1',
    'MutatingAdmissionPolicy',
    'mutatingadmissionpolicies',
    {
      spec: {
        matchConstraints,
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/metadata/labels/x"}]' },
          },
        ],
        reinvocationPolicy: 'Never',
      },
    },
  ],
  [
    'admissionregistration.k8s.io/v1',
    'MutatingAdmissionPolicyBinding',
    'mutatingadmissionpolicybindings',
    { spec: { policyName: NAME } },
  ],
  ['apps/v1', 'ControllerRevision', 'controllerrevisions', { revision: 1, data: { a: 1 } }],
  [
    'apps/v1',
    'DaemonSet',
    'daemonsets',
    {
      spec: {
        selector: { matchLabels: { app: 'ds' } },
        template: { ...template, metadata: { labels: { app: 'ds' } } },
      },
    },
  ],
  ['apps/v1', 'Deployment', 'deployments', { spec: { replicas: 0, selector, template } }],
  ['apps/v1', 'ReplicaSet', 'replicasets', { spec: { replicas: 0, selector, template } }],
  [
    'apps/v1',
    'StatefulSet',
    'statefulsets',
    { spec: { replicas: 0, selector, template, serviceName: NAME } },
  ],
  [
    'autoscaling/v2',
    'HorizontalPodAutoscaler',
    'horizontalpodautoscalers',
    {
      spec: {
        maxReplicas: 2,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'nobody' },
      },
    },
  ],
  [
    'batch/v1',
    'CronJob',
    'cronjobs',
    { spec: { schedule: '@yearly', jobTemplate: { spec: jobSpec } } },
  ],
  ['batch/v1', 'Job', 'jobs', { spec: { ...jobSpec, suspend: true } }],
  [
    'certificates.k8s.io/v1',
    'CertificateSigningRequest',
    'certificatesigningrequests',
    {
      spec: {
        request: SIGNING_REQUEST,
        signerName: 'other.example.com/it',
        usages: ['client auth'],
      },
    },
  ],
  ['coordination.k8s.io/v1', 'Lease', 'leases', { spec: { holderIdentity: NAME } }],
  [
    'discovery.k8s.io/v1',
    'EndpointSlice',
    'endpointslices',
    { addressType: 'IPv4', endpoints: [{ addresses: ['10.1.2.3'] }] },
  ],
  [
    'flowcontrol.apiserver.k8s.io/v1',
    'FlowSchema',
    'flowschemas',
    { spec: { priorityLevelConfiguration: { name: 'global-default' }, matchingPrecedence: 9999 } },
  ],
  [
    'flowcontrol.apiserver.k8s.io/v1',
    'PriorityLevelConfiguration',
    'prioritylevelconfigurations',
    { spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } } },
  ],
  [
    'networking.k8s.io/v1',
    'Ingress',
    'ingresses',
    { spec: { defaultBackend: { service: { name: 'nobody', port: { number: 80 } } } } },
  ],
  [
    'networking.k8s.io/v1',
    'IngressClass',
    'ingressclasses',
    { spec: { controller: 'other.example.com/it' } },
  ],
  ['networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', { spec: { podSelector: {} } }],
  ['networking.k8s.io/v1', 'ServiceCIDR', 'servicecidrs', { spec: { cidrs: ['10.77.0.0/24'] } }],
  ['node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses', { handler: 'nobody' }],
  [
    'policy/v1',
    'PodDisruptionBudget',
    'poddisruptionbudgets',
    { spec: { minAvailable: 0, selector: { matchLabels: { app: 'no' } } } },
  ],
  [
    `${RBAC}/v1`,
    'ClusterRole',
    'clusterroles',
    { rules: [{ verbs: ['get'], nonResourceURLs: ['/it'] }] },
  ],
  [
    `${RBAC}/v1`,
    'ClusterRoleBinding',
    'clusterrolebindings',
    { roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: NAME } },
  ],
  [
    `${RBAC}/v1`,
    'Role',
    'roles',
    { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] },
  ],
  [
    `${RBAC}/v1`,
    'RoleBinding',
    'rolebindings',
    { roleRef: { apiGroup: RBAC, kind: 'Role', name: NAME } },
  ],
  ['resource.k8s.io/v1', 'DeviceClass', 'deviceclasses', { spec: {} }],
  ['resource.k8s.io/v1', 'ResourceClaim', 'resourceclaims', { spec: { devices } }],
  [
    'resource.k8s.io/v1',
    'ResourceClaimTemplate',
    'resourceclaimtemplates',
    { spec: { spec: { devices } } },
  ],
  [
    'resource.k8s.io/v1',
    'ResourceSlice',
    'resourceslices',
    {
      spec: {
        driver: 'other.example.com',
        pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
        allNodes: true,
      },
    },
  ],
  ['scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses', { value: 5 }],
  ['storage.k8s.io/v1', 'CSIDriver', 'csidrivers', { spec: {} }],
  [
    'storage.k8s.io/v1',
    'CSINode',
    'csinodes',
    { spec: { drivers: [{ name: 'other.example.com', nodeID: 'n' }] } },
  ],
  [
    'storage.k8s.io/v1',
    'CSIStorageCapacity',
    'csistoragecapacities',
    { storageClassName: 'nobody' },
  ],
  ['storage.k8s.io/v1', 'StorageClass', 'storageclasses', { provisioner: 'other.example.com' }],
  [
    'storage.k8s.io/v1',
    'VolumeAttachment',
    'volumeattachments',
    {
      spec: {
        attacher: 'other.example.com',
        nodeName: 'nobody',
        source: { persistentVolumeName: 'nobody' },
      },
    },
  ],
  [
    'storage.k8s.io/v1',
    'VolumeAttributesClass',
    'volumeattributesclasses',
    { driverName: 'other.example.com', parameters: { a: 'b' } },
  ],
];

/** Kinds whose objects must have certain names. */
const NAMED: readonly { readonly entry: Entry; readonly name: string }[] = [
  {
    entry: [
      'apiregistration.k8s.io/v1',
      'APIService',
      'apiservices',
      {
        spec: {
          group: 'other.example.com',
          version: 'v1',
          groupPriorityMinimum: 1,
          versionPriority: 1,
          service: { name: 'nobody', namespace: 'default' },
          insecureSkipTLSVerify: true,
        },
      },
    ],
    name: 'v1.other.example.com',
  },
  {
    entry: [
      'networking.k8s.io/v1',
      'IPAddress',
      'ipaddresses',
      { spec: { parentRef: { resource: 'services', namespace: 'default', name: 'nobody' } } },
    ],
    name: '10.77.0.7',
  },
  {
    entry: [
      'apiextensions.k8s.io/v1',
      'CustomResourceDefinition',
      'customresourcedefinitions',
      {
        spec: {
          group: 'kinds.example.com',
          names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
          scope: 'Namespaced',
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: 'object' } },
            },
          ],
        },
      },
    ],
    name: 'widgets.kinds.example.com',
  },
];

export interface KindManifest {
  readonly resource: string;
  readonly kind: string;
  readonly manifest: Body;
}

export const kindManifests: readonly KindManifest[] = [
  ...KINDS.map((entry) => ({ entry, name: NAME })),
  ...NAMED,
].map(({ entry: [apiVersion, kind, resource, body], name }) => ({
  kind,
  resource,
  manifest: { apiVersion, kind, metadata: { name }, ...body },
}));
