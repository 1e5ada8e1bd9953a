// Objects with more fields than those of the end-to-end test, so that changes to them reach more
// rules.

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
  resources: {
    requests: { cpu: '100m', memory: '64Mi' },
    limits: { cpu: '200m', memory: '128Mi' },
  },
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
    {
      name: 'all',
      projected: {
        sources: [{ secret: { name: 'it' } }, { serviceAccountToken: { path: 'token' } }],
      },
    },
    {
      name: 'claim',
      ephemeral: {
        volumeClaimTemplate: {
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
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
        {
          weight: 1,
          podAffinityTerm: {
            topologyKey: 'kubernetes.io/hostname',
            labelSelector: { matchLabels: labels },
          },
        },
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
  dnsConfig: {
    nameservers: ['10.0.0.10'],
    searches: ['example.com'],
    options: [{ name: 'ndots', value: '2' }],
  },
  hostAliases: [{ ip: '10.1.2.3', hostnames: ['a.example.com'] }],
  terminationGracePeriodSeconds: 10,
};
const template = { metadata: { labels }, spec: podSpec };
const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };

const matchConstraints = {
  matchPolicy: 'Equivalent',
  namespaceSelector: { matchLabels: labels },
  objectSelector: {},
  resourceRules: [
    {
      operations: ['CREATE', 'UPDATE'],
      apiGroups: ['apps'],
      apiVersions: ['v1'],
      resources: ['deployments'],
      resourceNames: ['a'],
      scope: 'Namespaced',
    },
  ],
} as const;

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
          { name: 'http', port: 80, targetPort: 'http' },
          { name: 'dns', port: 53, protocol: 'UDP' },
        ],
        sessionAffinity: 'ClientIP',
        externalTrafficPolicy: 'Local',
        loadBalancerSourceRanges: ['10.0.0.0/8'],
      },
    },
  ],
  [
    'v1',
    'Service',
    'services',
    {
      spec: {
        type: 'ExternalName',
        externalName: 'a.example.com',
        sessionAffinity: 'None',
        ports: [{ port: 80 }],
      },
    },
  ],
  [
    'v1',
    'Service',
    'services',
    {
      spec: {
        clusterIP: 'None',
        selector: labels,
        ports: [{ name: 'http', port: 80, appProtocol: 'kubernetes.io/h2c' }],
        publishNotReadyAddresses: true,
        internalTrafficPolicy: 'Cluster',
        trafficDistribution: 'PreferClose',
      },
    },
  ],
  [
    'v1',
    'Pod',
    'pods',
    {
      spec: {
        restartPolicy: 'Never',
        hostNetwork: true,
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['10.0.0.10'] },
        os: { name: 'linux' },
        securityContext: {
          supplementalGroups: [1],
          seccompProfile: { type: 'Localhost', localhostProfile: 'a.json' },
        },
        initContainers: [{ name: 'first', image: 'busybox', restartPolicy: 'Never' }],
        containers: [
          {
            name: 'main',
            image: 'busybox',
            ports: [{ containerPort: 80, hostPort: 80 }],
            envFrom: [{ configMapRef: { name: 'it' }, prefix: 'A_' }],
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }],
            resources: {
              limits: { cpu: '1', 'hugepages-2Mi': '4Mi' },
              claims: [{ name: 'device' }],
            },
            resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
            volumeDevices: [{ name: 'disk', devicePath: '/dev/a' }],
            securityContext: {
              appArmorProfile: { type: 'RuntimeDefault' },
              seLinuxOptions: { level: 's0' },
              allowPrivilegeEscalation: false,
            },
          },
        ],
        resourceClaims: [{ name: 'device', resourceClaimTemplateName: 'it' }],
        resources: { limits: { cpu: '2' } },
        volumes: [
          { name: 'disk', persistentVolumeClaim: { claimName: 'it' } },
          { name: 'nfs', nfs: { server: 's', path: '/p' } },
          { name: 'host', hostPath: { path: '/p', type: 'Directory' } },
          {
            name: 'csi',
            csi: { driver: 'other.example.com', nodePublishSecretRef: { name: 'it' } },
          },
          { name: 'image', image: { reference: 'busybox', pullPolicy: 'Always' } },
          {
            name: 'facts',
            downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.labels' } }] },
          },
        ],
        readinessGates: [{ conditionType: 'example.com/ready' }],
        schedulingGates: [{ name: 'example.com/wait' }],
        imagePullSecrets: [{ name: 'it' }],
      },
    },
  ],
  [
    'v1',
    'Endpoints',
    'endpoints',
    {
      subsets: [
        {
          addresses: [
            { ip: '10.1.2.3', hostname: 'a', nodeName: 'n', targetRef: { kind: 'Pod', name: 'p' } },
          ],
          notReadyAddresses: [{ ip: '10.1.2.4' }],
          ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
        },
      ],
    },
  ],
  [
    'v1',
    'Secret',
    'secrets',
    {
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': 'e30=' },
      immutable: false,
    },
  ],
  [
    'v1',
    'ConfigMap',
    'configmaps',
    { data: { a: 'b' }, binaryData: { c: 'YQ==' }, immutable: false },
  ],
  [
    'v1',
    'ServiceAccount',
    'serviceaccounts',
    {
      secrets: [{ name: 'it' }],
      imagePullSecrets: [{ name: 'it' }],
      automountServiceAccountToken: false,
    },
  ],
  [
    'v1',
    'PersistentVolume',
    'persistentvolumes',
    {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
        local: { path: '/p' },
        claimRef: { namespace: 'default', name: 'it' },
        mountOptions: ['ro'],
        volumeMode: 'Filesystem',
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }],
          },
        },
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
          driver: 'other.example.com',
          volumeHandle: 'v',
          fsType: 'ext4',
          nodePublishSecretRef: { name: 'a', namespace: 'b' },
        },
        storageClassName: 'it',
        persistentVolumeReclaimPolicy: 'Retain',
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
            ],
          },
        },
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
    {
      spec: {
        podCIDR: '10.1.0.0/24',
        podCIDRs: ['10.1.0.0/24'],
        taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }],
      },
    },
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
        scopeSelector: {
          matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['a'] }],
        },
      },
    },
  ],
  [
    'v1',
    'ReplicationController',
    'replicationcontrollers',
    { spec: { replicas: 0, selector: labels, template } },
  ],
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
        updateStrategy: {
          type: 'RollingUpdate',
          rollingUpdate: { maxSurge: 0, maxUnavailable: 1 },
        },
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
            {
              action: 'FailIndex',
              onExitCodes: { operator: 'In', values: [1, 2], containerName: 'main' },
            },
            { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          ],
        },
        successPolicy: { rules: [{ succeededIndexes: '0-1', succeededCount: 1 }] },
        template: {
          spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox' }] },
        },
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
        parallelism: 2,
        backoffLimit: 3,
        manualSelector: true,
        selector: { matchLabels: labels },
        podReplacementPolicy: 'Failed',
        managedBy: 'example.com/other',
        podFailurePolicy: {
          rules: [{ action: 'FailJob', onExitCodes: { operator: 'NotIn', values: [1] } }],
        },
        template: {
          metadata: { labels },
          spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox' }] },
        },
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
          spec: {
            template: {
              spec: {
                restartPolicy: 'OnFailure',
                containers: [{ name: 'main', image: 'busybox' }],
              },
            },
          },
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
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
          },
          {
            type: 'Pods',
            pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '1' } },
          },
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
          scaleDown: {
            stabilizationWindowSeconds: 60,
            policies: [{ type: 'Percent', value: 10, periodSeconds: 60 }],
          },
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
            http: {
              paths: [
                {
                  path: '/',
                  pathType: 'Prefix',
                  backend: { service: { name: 'it', port: { name: 'http' } } },
                },
              ],
            },
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
            from: [
              { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } },
              { namespaceSelector: {} },
            ],
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
    {
      spec: {
        maxUnavailable: '50%',
        selector: { matchLabels: labels },
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
      },
    },
  ],
  [
    'storage.k8s.io/v1',
    'StorageClass',
    'storageclasses',
    {
      provisioner: 'other.example.com',
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
      rules: [
        { verbs: ['get'], apiGroups: [''], resources: ['pods', 'pods/log'], resourceNames: ['a'] },
      ],
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
            resourceRules: [
              { verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['*'] },
            ],
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
          limitResponse: {
            type: 'Queue',
            queuing: { queues: 8, handSize: 2, queueLengthLimit: 5 },
          },
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
          config: [
            { requests: ['a'], opaque: { driver: 'other.example.com', parameters: { a: 1 } } },
          ],
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
        driver: 'other.example.com',
        nodeName: 'n',
        pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
        devices: [
          {
            name: 'd',
            attributes: {
              a: { string: 's' },
              'example.com/b': { int: 1 },
              v: { version: '1.2.3' },
            },
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
          name: 'hook.other.example.com',
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
  [
    'networking.k8s.io/v1',
    'IngressClass',
    'ingressclasses',
    {
      spec: {
        controller: 'a.example.com/b',
        parameters: { apiGroup: 'example.com', kind: 'P', name: 'p', scope: 'Cluster' },
      },
    },
  ],
  [
    'networking.k8s.io/v1',
    'ServiceCIDR',
    'servicecidrs',
    { spec: { cidrs: ['10.78.0.0/24', 'fd00:78::/112'] } },
  ],
  [
    'coordination.k8s.io/v1',
    'Lease',
    'leases',
    {
      spec: {
        holderIdentity: 'a',
        leaseDurationSeconds: 15,
        leaseTransitions: 1,
        renewTime: '2026-01-02T03:04:05.000006Z',
        strategy: 'OldestEmulationVersion',
        preferredHolder: 'b',
      },
    },
  ],
  [
    'node.k8s.io/v1',
    'RuntimeClass',
    'runtimeclasses',
    {
      handler: 'nobody',
      overhead: { podFixed: { cpu: '10m', memory: '10Mi' } },
      scheduling: {
        nodeSelector: { a: 'b' },
        tolerations: [
          { key: 'a', operator: 'Equal', value: 'b', effect: 'NoExecute', tolerationSeconds: 5 },
        ],
      },
    },
  ],
  [
    'scheduling.k8s.io/v1',
    'PriorityClass',
    'priorityclasses',
    { value: 5, globalDefault: false, description: 'd', preemptionPolicy: 'Never' },
  ],
  [
    'rbac.authorization.k8s.io/v1',
    'Role',
    'roles',
    {
      rules: [
        {
          verbs: ['get', '*'],
          apiGroups: ['apps'],
          resources: ['deployments/scale'],
          resourceNames: ['a'],
        },
      ],
    },
  ],
  [
    'rbac.authorization.k8s.io/v1',
    'ClusterRoleBinding',
    'clusterrolebindings',
    {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'Group', name: 'g', apiGroup: 'rbac.authorization.k8s.io' }],
    },
  ],
  [
    'storage.k8s.io/v1',
    'CSINode',
    'csinodes',
    {
      spec: {
        drivers: [
          {
            name: 'a.example.com',
            nodeID: 'n',
            topologyKeys: ['example.com/zone'],
            allocatable: { count: 5 },
          },
        ],
      },
    },
  ],
  [
    'storage.k8s.io/v1',
    'CSIStorageCapacity',
    'csistoragecapacities',
    {
      storageClassName: 'it',
      capacity: '1Gi',
      maximumVolumeSize: '1Gi',
      nodeTopology: {
        matchLabels: { a: 'b' },
        matchExpressions: [{ key: 'c', operator: 'In', values: ['d'] }],
      },
    },
  ],
  [
    'storage.k8s.io/v1',
    'VolumeAttachment',
    'volumeattachments',
    {
      spec: {
        attacher: 'other.example.com',
        nodeName: 'n',
        source: {
          inlineVolumeSpec: {
            accessModes: ['ReadWriteOnce'],
            capacity: { storage: '1Gi' },
            csi: { driver: 'other.example.com', volumeHandle: 'h' },
          },
        },
      },
    },
  ],
  [
    'resource.k8s.io/v1',
    'DeviceClass',
    'deviceclasses',
    {
      spec: {
        selectors: [{ cel: { expression: 'device.driver == "other.example.com"' } }],
        config: [{ opaque: { driver: 'other.example.com', parameters: { a: 1 } } }],
        extendedResourceName: 'example.com/gpu',
      },
    },
  ],
  [
    'resource.k8s.io/v1',
    'ResourceClaimTemplate',
    'resourceclaimtemplates',
    {
      spec: {
        metadata: { labels, annotations: { a: 'b' } },
        spec: {
          devices: {
            requests: [{ name: 'a', exactly: { deviceClassName: 'c', allocationMode: 'All' } }],
          },
        },
      },
    },
  ],
  [
    'admissionregistration.k8s.io/v1',
    'MutatingWebhookConfiguration',
    'mutatingwebhookconfigurations',
    {
      webhooks: [
        {
          name: 'hook.other.example.com',
          clientConfig: { url: 'https://other.example.com/a' },
          rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }],
          matchConditions: [{ name: 'a', expression: 'request.operation == "CREATE"' }],
          reinvocationPolicy: 'IfNeeded',
          sideEffects: 'NoneOnDryRun',
          objectSelector: { matchLabels: labels },
          admissionReviewVersions: ['v1', 'v1beta1'],
        },
      ],
    },
  ],
  [
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicy',
    'validatingadmissionpolicies',
    {
      spec: {
        failurePolicy: 'Fail',
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        matchConstraints,
        matchConditions: [{ name: 'a', expression: 'true' }],
        variables: [{ name: 'v', expression: 'object.metadata.name' }],
        validations: [
          {
            expression: 'variables.v != "a"',
            message: 'm',
            reason: 'Forbidden',
            messageExpression: '"m"',
          },
        ],
        auditAnnotations: [{ key: 'k', valueExpression: '"v"' }],
      },
    },
  ],
  [
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    {
      spec: {
        policyName: 'it',
        paramRef: { name: 'p', namespace: 'default', parameterNotFoundAction: 'Deny' },
        matchResources: {
          ...matchConstraints,
          excludeResourceRules: [matchConstraints.resourceRules[0]],
        },
        validationActions: ['Deny', 'Audit'],
      },
    },
  ],
  [
    'admissionregistration.k8s.io/v1',
    'MutatingAdmissionPolicy',
    'mutatingadmissionpolicies',
    {
      spec: {
        matchConstraints,
        failurePolicy: 'Ignore',
        reinvocationPolicy: 'IfNeeded',
        variables: [{ name: 'v', expression: '1' }],
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: { expression: 'Object{metadata: Object.metadata{}}' },
          },
          {
            patchType: 'JSONPatch',
            jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/a"}]' },
          },
        ],
      },
    },
  ],
  [
    'admissionregistration.k8s.io/v1',
    'MutatingAdmissionPolicyBinding',
    'mutatingadmissionpolicybindings',
    {
      spec: {
        policyName: 'it',
        paramRef: { selector: { matchLabels: labels }, parameterNotFoundAction: 'Allow' },
        matchResources: matchConstraints,
      },
    },
  ],
];

export const samples: readonly KindManifest[] = entries.map(
  ([apiVersion, kind, resource, body]) => ({
    kind,
    resource,
    manifest: {
      apiVersion,
      kind,
      metadata: { name: 'rich', labels, annotations: { a: 'b' } },
      ...body,
    },
  }),
);
