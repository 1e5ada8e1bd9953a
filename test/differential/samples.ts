// Objects that say more than those of the end-to-end test, so that changes to them reach more rules.

import type { KindManifest } from '../e2e/kinds.ts';

const labels = { app: 'rich' };
const container = {
  name: 'main',
  image: 'busybox',
  command: ['sleep', '1'],
  env: [
    { name: 'A', value: 'b' },
    { name: 'P', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'R', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
  ],
  ports: [{ containerPort: 80, name: 'http', protocol: 'TCP' }],
  resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '128Mi' } },
  livenessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 5 },
  readinessProbe: { exec: { command: ['true'] } },
  startupProbe: { tcpSocket: { port: 80 } },
  lifecycle: { preStop: { sleep: { seconds: 1 } } },
  securityContext: { runAsNonRoot: true, runAsUser: 1000, capabilities: { drop: ['ALL'] } },
  volumeMounts: [
    { name: 'scratch', mountPath: '/scratch' },
    { name: 'config', mountPath: '/etc/config', readOnly: true },
  ],
};
const podSpec = {
  initContainers: [{ name: 'setup', image: 'busybox', restartPolicy: 'Always' }],
  containers: [container],
  volumes: [
    { name: 'scratch', emptyDir: { sizeLimit: '1Gi' } },
    { name: 'config', configMap: { name: 'it', items: [{ key: 'a', path: 'b' }] } },
    { name: 'all', projected: { sources: [{ secret: { name: 'it' } }, { serviceAccountToken: { path: 'token' } }] } },
    {
      name: 'claim',
      ephemeral: {
        volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
      },
    },
  ],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }],
      },
    },
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: labels } } },
      ],
    },
  },
  tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 }],
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: labels },
    },
  ],
  securityContext: { fsGroup: 1000, sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] },
  dnsConfig: { nameservers: ['10.0.0.10'], searches: ['example.com'], options: [{ name: 'ndots', value: '2' }] },
  hostAliases: [{ ip: '10.1.2.3', hostnames: ['a.example.com'] }],
  terminationGracePeriodSeconds: 10,
};
const template = { metadata: { labels }, spec: podSpec };
const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };

const entries: readonly (readonly [
  apiVersion: string,
  kind: string,
  resource: string,
  body: Readonly<Record<string, unknown>>,
])[] = [
  ['v1', 'Pod', 'pods', { spec: podSpec }],
  [
    'v1',
    'Service',
    'services',
    {
      spec: {
        type: 'LoadBalancer',
        selector: labels,
        ports: [
          { name: 'http', port: 80, targetPort: 'http', nodePort: 31_234 },
          { name: 'dns', port: 53, protocol: 'UDP' },
        ],
        sessionAffinity: 'ClientIP',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 31_235,
        loadBalancerSourceRanges: ['10.0.0.0/8'],
        clusterIP: '10.96.12.34',
      },
    },
  ],
  [
    'v1',
    'PersistentVolume',
    'persistentvolumes',
    {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        csi: {
          driver: 'nobody.example.com',
          volumeHandle: 'v',
          fsType: 'ext4',
          nodePublishSecretRef: { name: 'a', namespace: 'b' },
        },
        storageClassName: 'it',
        persistentVolumeReclaimPolicy: 'Retain',
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }] } },
      },
    },
  ],
  [
    'v1',
    'PersistentVolumeClaim',
    'persistentvolumeclaims',
    {
      spec: {
        ...claimSpec,
        storageClassName: 'it',
        selector: { matchLabels: labels },
        dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'it' },
      },
    },
  ],
  [
    'v1',
    'Node',
    'nodes',
    { spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'], taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] } },
  ],
  [
    'v1',
    'LimitRange',
    'limitranges',
    {
      spec: {
        limits: [
          {
            type: 'Container',
            max: { 'example.com/a': '2' },
            min: { 'example.com/a': '1' },
            default: { 'example.com/a': '2' },
            defaultRequest: { 'example.com/a': '2' },
            maxLimitRequestRatio: { 'example.com/a': '2' },
          },
        ],
      },
    },
  ],
  [
    'v1',
    'ResourceQuota',
    'resourcequotas',
    {
      spec: {
        hard: { 'requests.example.com/a': '1' },
        scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['a'] }] },
      },
    },
  ],
  ['v1', 'ReplicationController', 'replicationcontrollers', { spec: { replicas: 0, selector: labels, template } }],
  [
    'apps/v1',
    'Deployment',
    'deployments',
    {
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 1 } },
        minReadySeconds: 1,
        progressDeadlineSeconds: 60,
        revisionHistoryLimit: 3,
      },
    },
  ],
  [
    'apps/v1',
    'StatefulSet',
    'statefulsets',
    {
      spec: {
        replicas: 0,
        serviceName: 'it',
        selector: { matchLabels: labels },
        template,
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec }],
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
        podManagementPolicy: 'Parallel',
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
        ordinals: { start: 1 },
      },
    },
  ],
  [
    'apps/v1',
    'DaemonSet',
    'daemonsets',
    {
      spec: {
        selector: { matchLabels: labels },
        template,
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
      },
    },
  ],
  [
    'batch/v1',
    'Job',
    'jobs',
    {
      spec: {
        suspend: true,
        completions: 3,
        parallelism: 2,
        completionMode: 'Indexed',
        backoffLimitPerIndex: 1,
        maxFailedIndexes: 2,
        activeDeadlineSeconds: 100,
        ttlSecondsAfterFinished: 100,
        podFailurePolicy: {
          rules: [
            { action: 'FailIndex', onExitCodes: { operator: 'In', values: [1, 2], containerName: 'main' } },
            { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          ],
        },
        successPolicy: { rules: [{ succeededIndexes: '0-1', succeededCount: 1 }] },
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox' }] } },
      },
    },
  ],
  [
    'batch/v1',
    'CronJob',
    'cronjobs',
    {
      spec: {
        schedule: '*/5 * * * *',
        timeZone: 'Europe/Paris',
        concurrencyPolicy: 'Forbid',
        startingDeadlineSeconds: 10,
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: 'OnFailure', containers: [{ name: 'main', image: 'busybox' }] } } },
        },
      },
    },
  ],
  [
    'autoscaling/v2',
    'HorizontalPodAutoscaler',
    'horizontalpodautoscalers',
    {
      spec: {
        minReplicas: 1,
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'it' },
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
          { type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '1' } } },
          {
            type: 'Object',
            object: {
              describedObject: { kind: 'Service', name: 'it' },
              metric: { name: 'm' },
              target: { type: 'Value', value: '1' },
            },
          },
        ],
        behavior: {
          scaleDown: { stabilizationWindowSeconds: 60, policies: [{ type: 'Percent', value: 10, periodSeconds: 60 }] },
        },
      },
    },
  ],
  [
    'networking.k8s.io/v1',
    'Ingress',
    'ingresses',
    {
      spec: {
        ingressClassName: 'it',
        tls: [{ hosts: ['a.example.com'], secretName: 'it' }],
        rules: [
          {
            host: 'a.example.com',
            http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'it', port: { name: 'http' } } } }] },
          },
        ],
      },
    },
  ],
  [
    'networking.k8s.io/v1',
    'NetworkPolicy',
    'networkpolicies',
    {
      spec: {
        podSelector: { matchLabels: labels },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [
          {
            from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }, { namespaceSelector: {} }],
            ports: [{ port: 80, endPort: 90, protocol: 'TCP' }],
          },
        ],
        egress: [{ to: [{ podSelector: { matchLabels: labels } }], ports: [{ port: 'http' }] }],
      },
    },
  ],
  [
    'discovery.k8s.io/v1',
    'EndpointSlice',
    'endpointslices',
    {
      addressType: 'IPv4',
      endpoints: [
        {
          addresses: ['10.1.2.3'],
          conditions: { ready: true },
          hostname: 'a',
          nodeName: 'n',
          zone: 'z',
          hints: { forZones: [{ name: 'z' }] },
          targetRef: { kind: 'Pod', name: 'p' },
        },
      ],
      ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: 'kubernetes.io/h2c' }],
    },
  ],
  [
    'policy/v1',
    'PodDisruptionBudget',
    'poddisruptionbudgets',
    { spec: { maxUnavailable: '50%', selector: { matchLabels: labels }, unhealthyPodEvictionPolicy: 'AlwaysAllow' } },
  ],
  [
    'storage.k8s.io/v1',
    'StorageClass',
    'storageclasses',
    {
      provisioner: 'nobody.example.com',
      parameters: { a: 'b' },
      reclaimPolicy: 'Retain',
      mountOptions: ['ro'],
      volumeBindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [{ matchLabelExpressions: [{ key: 'a', values: ['b'] }] }],
    },
  ],
  [
    'storage.k8s.io/v1',
    'CSIDriver',
    'csidrivers',
    {
      spec: {
        attachRequired: true,
        podInfoOnMount: true,
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
        tokenRequests: [{ audience: 'a', expirationSeconds: 3600 }],
        fsGroupPolicy: 'File',
      },
    },
  ],
  [
    'rbac.authorization.k8s.io/v1',
    'ClusterRole',
    'clusterroles',
    {
      rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods', 'pods/log'], resourceNames: ['a'] }],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: labels }] },
    },
  ],
  [
    'rbac.authorization.k8s.io/v1',
    'RoleBinding',
    'rolebindings',
    {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [
        { kind: 'ServiceAccount', name: 'a', namespace: 'b' },
        { kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' },
      ],
    },
  ],
  [
    'flowcontrol.apiserver.k8s.io/v1',
    'FlowSchema',
    'flowschemas',
    {
      spec: {
        priorityLevelConfiguration: { name: 'global-default' },
        matchingPrecedence: 900,
        distinguisherMethod: { type: 'ByUser' },
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'u' } }],
            resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['*'] }],
            nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }],
          },
        ],
      },
    },
  ],
  [
    'flowcontrol.apiserver.k8s.io/v1',
    'PriorityLevelConfiguration',
    'prioritylevelconfigurations',
    {
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 5,
          lendablePercent: 10,
          borrowingLimitPercent: 10,
          limitResponse: { type: 'Queue', queuing: { queues: 8, handSize: 2, queueLengthLimit: 5 } },
        },
      },
    },
  ],
  [
    'resource.k8s.io/v1',
    'ResourceClaim',
    'resourceclaims',
    {
      spec: {
        devices: {
          requests: [
            {
              name: 'a',
              exactly: {
                deviceClassName: 'c',
                allocationMode: 'ExactCount',
                count: 2,
                tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }],
              },
            },
            { name: 'b', firstAvailable: [{ name: 'c', deviceClassName: 'c' }] },
          ],
          constraints: [{ requests: ['a'], matchAttribute: 'example.com/a' }],
          config: [{ requests: ['a'], opaque: { driver: 'nobody.example.com', parameters: { a: 1 } } }],
        },
      },
    },
  ],
  [
    'resource.k8s.io/v1',
    'ResourceSlice',
    'resourceslices',
    {
      spec: {
        driver: 'nobody.example.com',
        nodeName: 'n',
        pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
        devices: [
          {
            name: 'd',
            attributes: { a: { string: 's' }, 'example.com/b': { int: 1 }, v: { version: '1.2.3' } },
            capacity: { memory: { value: '1Gi' } },
            taints: [{ key: 'a', effect: 'NoSchedule' }],
          },
        ],
      },
    },
  ],
  [
    'admissionregistration.k8s.io/v1',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
    {
      webhooks: [
        {
          name: 'hook.nobody.example.com',
          clientConfig: { service: { name: 'a', namespace: 'b', path: '/c', port: 443 } },
          rules: [
            {
              operations: ['CREATE', 'UPDATE'],
              apiGroups: ['apps'],
              apiVersions: ['v1'],
              resources: ['deployments/*'],
              scope: 'Namespaced',
            },
          ],
          failurePolicy: 'Fail',
          matchPolicy: 'Equivalent',
          namespaceSelector: { matchLabels: labels },
          sideEffects: 'None',
          timeoutSeconds: 5,
          admissionReviewVersions: ['v1'],
        },
      ],
    },
  ],
];

export const samples: readonly KindManifest[] = entries.map(([apiVersion, kind, resource, body]) => ({
  kind,
  resource,
  manifest: { apiVersion, kind, metadata: { name: 'rich', labels, annotations: { a: 'b' } }, ...body },
}));
