// Objects with several bad fields each, and the checking of fields.

import {
  APPS,
  type Call,
  configMap,
  CORE,
  deployment,
  get,
  patch,
  pod,
  podSpec,
  post,
  put,
  remove,
} from './call.ts';

const BATCH = '/apis/batch/v1/namespaces/default';
const NET = '/apis/networking.k8s.io/v1/namespaces/default';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const STORAGE = '/apis/storage.k8s.io/v1';
const object = (apiVersion: string, kind: string, name: string, more: object = {}): object => ({
  apiVersion,
  kind,
  metadata: { name },
  ...more,
});
const container = (more: object): object => ({ name: 'c', image: 'i', ...more });
const pods = (...specs: readonly object[]): readonly Call[] =>
  specs.map((spec) => post(`${CORE}/pods?dryRun=All`, pod('bad', spec)));

const badPods: readonly Call[] = pods(
  { containers: [] },
  { containers: [{ name: 'A_', image: '', imagePullPolicy: 'Sometimes' }, { name: 'A_' }] },
  {
    restartPolicy: 'Maybe',
    dnsPolicy: 'X',
    terminationGracePeriodSeconds: -1,
    nodeName: 'A B',
    serviceAccountName: 'A!',
  },
  {
    containers: [
      container({
        ports: [
          { containerPort: 0 },
          { containerPort: 70000, name: 'A'.repeat(20), protocol: 'X' },
          { containerPort: 1, hostPort: 2 },
          { containerPort: 3, hostPort: 2 },
        ],
      }),
    ],
  },
  {
    containers: [
      container({
        env: [
          { name: '' },
          { name: 'a=b', value: 'x', valueFrom: { fieldRef: { fieldPath: 'none' } } },
          { name: 'b', valueFrom: {} },
        ],
      }),
    ],
  },
  {
    containers: [
      container({
        env: [
          {
            name: 'a',
            valueFrom: { configMapKeyRef: { name: '', key: 'a b' }, secretKeyRef: { name: 'x' } },
          },
        ],
        envFrom: [{}, { prefix: '=', configMapRef: {} }],
      }),
    ],
  },
  {
    containers: [
      container({
        resources: {
          requests: { cpu: '2', memory: '-1', 'bad resource!': '1' },
          limits: { cpu: '1', 'example.com/x': '1500m', hugepages: '1' },
        },
      }),
    ],
  },
  {
    containers: [
      container({
        volumeMounts: [
          { name: 'none', mountPath: '' },
          { name: 'none', mountPath: '/a:b', subPath: '../x', subPathExpr: '$(X)' },
        ],
      }),
    ],
  },
  {
    containers: [
      container({
        livenessProbe: {},
        readinessProbe: {
          httpGet: { port: 0, path: '', scheme: 'FTP' },
          exec: { command: [] },
          periodSeconds: -1,
          successThreshold: 2,
        },
        startupProbe: { tcpSocket: { port: 'A' }, successThreshold: 3 },
      }),
    ],
  },
  {
    containers: [
      container({ lifecycle: { postStart: {}, preStop: { sleep: { seconds: 100 }, exec: {} } } }),
    ],
  },
  {
    containers: [
      container({
        securityContext: {
          privileged: true,
          allowPrivilegeEscalation: false,
          runAsUser: -1,
          runAsNonRoot: true,
          capabilities: { add: ['SYS_ADMIN'] },
          procMount: 'X',
          seccompProfile: { type: 'Localhost' },
          appArmorProfile: { type: 'X' },
        },
      }),
    ],
  },
  {
    securityContext: {
      runAsUser: -1,
      fsGroup: -1,
      supplementalGroups: [-1],
      sysctls: [{ name: 'A' }, { name: 'a.b' }, { name: 'a.b' }],
      fsGroupChangePolicy: 'X',
      seLinuxOptions: {},
      windowsOptions: { runAsUserName: '' },
    },
  },
  {
    volumes: [
      { name: 'v' },
      { name: 'v', emptyDir: {}, hostPath: { path: '..', type: 'X' } },
      { name: 'A', emptyDir: { sizeLimit: '-1', medium: 'X' } },
    ],
  },
  {
    volumes: [
      { name: 'a', secret: { defaultMode: 999, items: [{ key: '', path: '/abs' }] } },
      { name: 'b', configMap: { items: [{ key: 'a', path: '../x', mode: -1 }] } },
      {
        name: 'c',
        projected: { sources: [{}, { serviceAccountToken: { path: '', expirationSeconds: 1 } }] },
      },
    ],
  },
  {
    volumes: [
      { name: 'a', persistentVolumeClaim: { claimName: 'A!' } },
      { name: 'b', nfs: { server: '', path: 'rel' } },
      { name: 'c', iscsi: { targetPortal: '', iqn: 'x', lun: 300 } },
      { name: 'd', csi: { driver: '' } },
      { name: 'e', image: {} },
    ],
  },
  {
    volumes: [
      {
        name: 'a',
        downwardAPI: {
          items: [
            { path: 'x', fieldRef: { fieldPath: 'status.podIP' } },
            { path: 'y', resourceFieldRef: { resource: 'x' } },
          ],
        },
      },
      { name: 'b', ephemeral: {} },
    ],
  },
  {
    tolerations: [
      { key: 'a b', operator: 'Sometimes', effect: 'X', tolerationSeconds: 1 },
      { operator: 'Exists', value: 'x' },
      { key: 'a', operator: 'Exists', value: 'x' },
    ],
  },
  {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] },
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 0,
            preference: {
              matchExpressions: [
                { key: 'a', operator: 'In' },
                { key: 'b', operator: 'Gt', values: ['x'] },
                { key: '', operator: 'Exists', values: ['y'] },
              ],
            },
          },
        ],
      },
    },
  },
  {
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: '' },
          {
            topologyKey: 'a b',
            labelSelector: { matchExpressions: [{ key: 'x', operator: 'X' }] },
            namespaces: ['A'],
          },
        ],
      },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 101, podAffinityTerm: {} }],
      },
    },
  },
  {
    topologySpreadConstraints: [
      { maxSkew: 0, topologyKey: '', whenUnsatisfiable: 'X', minDomains: 0 },
      {
        maxSkew: 1,
        topologyKey: 'a',
        whenUnsatisfiable: 'ScheduleAnyway',
        minDomains: 1,
        nodeAffinityPolicy: 'X',
        matchLabelKeys: ['a'],
      },
    ],
  },
  {
    hostAliases: [{ ip: 'x', hostnames: ['A_'] }],
    dnsConfig: {
      nameservers: ['x', '1.1.1.1', '1.1.1.2', '1.1.1.3'],
      searches: ['-'],
      options: [{ name: '' }],
    },
    hostname: 'A',
    subdomain: '-',
  },
  { dnsPolicy: 'None' },
  {
    schedulingGates: [{ name: '' }, { name: 'a' }, { name: 'a' }],
    nodeName: 'n',
    preemptionPolicy: 'X',
    priorityClassName: 'none',
  },
  { priority: 7 },
  { runtimeClassName: 'none' },
  { overhead: { cpu: '1' } },
  {
    readinessGates: [{ conditionType: 'a b' }],
    os: { name: 'beos' },
    hostUsers: false,
    hostNetwork: true,
    shareProcessNamespace: true,
    hostPID: true,
  },
  {
    resourceClaims: [
      { name: 'A' },
      { name: 'b', resourceClaimName: 'x', resourceClaimTemplateName: 'y' },
    ],
    containers: [container({ resources: { claims: [{ name: 'none' }] } })],
  },
  {
    initContainers: [
      container({ name: 'c' }),
      container({
        name: 'd',
        restartPolicy: 'Never',
        readinessProbe: { exec: { command: ['a'] } },
      }),
      container({ name: 'e', lifecycle: { preStop: { exec: { command: ['a'] } } } }),
    ],
  },
  { ephemeralContainers: [container({ name: 'e' })] },
  { activeDeadlineSeconds: 0, enableServiceLinks: 'x' },
  {
    resources: { limits: { cpu: '1' }, requests: { cpu: '2', 'example.com/x': '1' } },
    containers: [
      container({
        resizePolicy: [{ resourceName: 'x', restartPolicy: 'y' }],
        restartPolicyRules: [{ action: 'X' }],
      }),
    ],
  },
);

const badMetadata: readonly Call[] = [
  { name: '-', namespace: 'default' },
  { name: 'a', generateName: 'A_', labels: { 'a/b/c': 'x', a: 'b c', ['l'.repeat(64)]: '' } },
  { name: 'a', annotations: { 'A/ b': 'x' }, finalizers: ['none', 'a/b/c', ''] },
  {
    name: 'a',
    ownerReferences: [
      { apiVersion: '', kind: '', name: '', uid: '' },
      { apiVersion: 'v1', kind: 'Event', name: 'e', uid: 'u' },
      { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'y', controller: true },
      { apiVersion: 'v1', kind: 'X', name: 'z', uid: 'z', controller: true },
    ],
  },
  { name: 'x'.repeat(254) },
  { name: 'a', namespace: 'other' },
  {
    name: 'a',
    uid: 'own',
    resourceVersion: '0',
    generation: 7,
    creationTimestamp: '2026-01-01T00:00:00Z',
    deletionTimestamp: '2026-01-01T00:00:00Z',
    deletionGracePeriodSeconds: 3,
    selfLink: '/x',
  },
  { name: 'a', creationTimestamp: 'yesterday' },
  { name: 'a', managedFields: [{ manager: 'x', operation: 'Other' }] },
  { name: 'a', annotations: { a: 'x'.repeat(300_000) } },
].map((metadata) => post(`${CORE}/configmaps?dryRun=All`, configMap('a', { metadata })));

const meta = (name: string): object => ({ metadata: { name } });
const template = (spec: object, labels: object = { app: 'bad' }): object => ({
  metadata: { labels },
  spec: podSpec(spec),
});
const others: readonly Call[] = [
  post(
    `${APPS}/deployments`,
    deployment('bad', {
      replicas: -1,
      minReadySeconds: -1,
      revisionHistoryLimit: -1,
      progressDeadlineSeconds: 0,
    }),
  ),
  post(
    `${APPS}/deployments`,
    deployment('bad', { selector: {}, template: template({ restartPolicy: 'Never' }) }),
  ),
  post(
    `${APPS}/deployments`,
    deployment('bad', {
      selector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'x', operator: 'In' }] },
    }),
  ),
  post(
    `${APPS}/deployments`,
    deployment('bad', { strategy: { type: 'Recreate', rollingUpdate: {} } }),
  ),
  post(`${APPS}/deployments`, deployment('bad', { strategy: { type: 'X' } })),
  post(
    `${APPS}/deployments`,
    deployment('bad', { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } } }),
  ),
  post(
    `${APPS}/deployments`,
    deployment('bad', { strategy: { rollingUpdate: { maxSurge: 'x', maxUnavailable: '200%' } } }),
  ),
  post(`${APPS}/deployments`, {}),
  post(
    `${APPS}/statefulsets`,
    object('apps/v1', 'StatefulSet', 'bad', {
      spec: {
        serviceName: 'A_',
        podManagementPolicy: 'X',
        updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: -1 } },
        selector: { matchLabels: { a: 'b' } },
        template: template({ activeDeadlineSeconds: 4 }),
        ordinals: { start: -1 },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'X' },
      },
    }),
  ),
  post(
    `${APPS}/daemonsets`,
    object('apps/v1', 'DaemonSet', 'bad', {
      spec: {
        updateStrategy: { type: 'X' },
        selector: { matchLabels: { a: 'b' } },
        template: template({ restartPolicy: 'OnFailure' }),
      },
    }),
  ),
  post(
    `${APPS}/replicasets`,
    object('apps/v1', 'ReplicaSet', 'bad', {
      spec: { replicas: -1, minReadySeconds: -1, selector: { matchLabels: { a: 'b' } } },
    }),
  ),
  post(
    `${BATCH}/jobs`,
    object('batch/v1', 'Job', 'bad', {
      spec: {
        parallelism: -1,
        completions: -1,
        backoffLimit: -1,
        activeDeadlineSeconds: -1,
        ttlSecondsAfterFinished: -1,
        completionMode: 'X',
        suspend: true,
        template: template({}),
      },
    }),
  ),
  post(
    `${BATCH}/jobs`,
    object('batch/v1', 'Job', 'bad', {
      spec: {
        completionMode: 'Indexed',
        maxFailedIndexes: 1,
        podFailurePolicy: {
          rules: [
            { action: 'X' },
            {
              action: 'FailJob',
              onExitCodes: { operator: 'In', values: [0, 1, 1] },
              onPodConditions: [{ type: 'a' }],
            },
          ],
        },
        successPolicy: { rules: [] },
        podReplacementPolicy: 'X',
        managedBy: 'x',
        selector: { matchLabels: { a: 'b' } },
        template: template({ restartPolicy: 'OnFailure' }),
      },
    }),
  ),
  post(
    `${BATCH}/cronjobs`,
    object('batch/v1', 'CronJob', 'bad', {
      spec: {
        schedule: '* * *',
        timeZone: 'Nowhere/At',
        concurrencyPolicy: 'X',
        startingDeadlineSeconds: -1,
        successfulJobsHistoryLimit: -1,
        jobTemplate: { spec: { template: template({ restartPolicy: 'Always' }) } },
      },
    }),
  ),
  post(
    `${BATCH}/cronjobs`,
    object('batch/v1', 'CronJob', 'x'.repeat(53), {
      spec: {
        schedule: 'TZ=UTC * * * * *',
        jobTemplate: { spec: { template: template({ restartPolicy: 'Never' }) } },
      },
    }),
  ),
  post(
    `${CORE}/services`,
    object('v1', 'Service', 'Bad', {
      spec: {
        ports: [{ port: 0 }, { port: 80, protocol: 'X' }],
        type: 'X',
        clusterIP: 'x',
        sessionAffinity: 'X',
        externalTrafficPolicy: 'X',
        ipFamilies: ['IPv5'],
        ipFamilyPolicy: 'X',
      },
    }),
  ),
  post(
    `${CORE}/services`,
    object('v1', 'Service', 'bad', {
      spec: {
        type: 'ExternalName',
        clusterIP: '10.96.0.9',
        externalName: 'A_',
        ports: [{ port: 80, nodePort: 30000 }],
      },
    }),
  ),
  post(
    `${CORE}/services`,
    object('v1', 'Service', 'bad', {
      spec: {
        ports: [{ port: 80, name: 'a' }, { port: 81, name: 'a', targetPort: 'A_' }, { port: 80 }],
        externalIPs: ['x', '127.0.0.1'],
        loadBalancerIP: 'x',
        loadBalancerSourceRanges: ['x'],
        healthCheckNodePort: 5,
        trafficDistribution: 'X',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } },
      },
    }),
  ),
  post(
    `${CORE}/services`,
    object('v1', 'Service', 'bad', { spec: { clusterIP: '1.2.3.4', ports: [{ port: 80 }] } }),
  ),
  post(
    `${CORE}/services`,
    object('v1', 'Service', 'bad', {
      spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] },
    }),
  ),
  post(
    `${CORE}/services`,
    object('v1', 'Service', 'bad', {
      spec: {
        type: 'LoadBalancer',
        loadBalancerClass: 'A B',
        allocateLoadBalancerNodePorts: false,
        internalTrafficPolicy: 'X',
        ports: [],
      },
    }),
  ),
  post(
    `${CORE}/endpoints`,
    object('v1', 'Endpoints', 'bad', {
      subsets: [
        {
          addresses: [{ ip: '127.0.0.1' }, { ip: 'x', nodeName: 'A', hostname: '-' }],
          ports: [{ port: 0, protocol: 'X' }, { port: 1 }],
        },
        {},
      ],
    }),
  ),
  post(
    `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices`,
    object('discovery.k8s.io/v1', 'EndpointSlice', 'bad', {
      addressType: 'X',
      endpoints: [{ addresses: [] }, { addresses: ['x'], hostname: 'A' }],
      ports: [{ name: 'A_', protocol: 'X' }, { name: 'A_' }],
    }),
  ),
  post(
    `${CORE}/secrets`,
    object('v1', 'Secret', 'bad', { type: 'kubernetes.io/tls', data: { 'a b': 'AAAA' } }),
  ),
  post(
    `${CORE}/secrets`,
    object('v1', 'Secret', 'bad', {
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': 'AAAA' },
    }),
  ),
  post(`${CORE}/secrets`, object('v1', 'Secret', 'bad', { type: 'kubernetes.io/basic-auth' })),
  post(
    `${CORE}/secrets`,
    object('v1', 'Secret', 'bad', { type: 'kubernetes.io/service-account-token' }),
  ),
  post(
    `${CORE}/secrets`,
    object('v1', 'Secret', 'bad', {
      type: 'kubernetes.io/ssh-auth',
      stringData: { x: 'y' },
      data: { x: '!' },
    }),
  ),
  post(
    `${CORE}/configmaps`,
    configMap('bad', {
      data: { 'a b': 'x', '..': 'y', ok: 'z' },
      binaryData: { ok: 'AAAA', '': 'AAAA' },
    }),
  ),
  post(
    `${CORE}/persistentvolumeclaims`,
    object('v1', 'PersistentVolumeClaim', 'bad', {
      spec: {
        accessModes: ['X', 'ReadWriteOncePod', 'ReadWriteOnce'],
        resources: { requests: { storage: '0' }, limits: { storage: '-1' } },
        volumeMode: 'X',
        storageClassName: 'A_',
        dataSource: { kind: 'X', name: '' },
        selector: { matchLabels: { 'a b': 'c' } },
      },
    }),
  ),
  post(
    '/api/v1/persistentvolumes',
    object('v1', 'PersistentVolume', 'bad', {
      spec: {
        capacity: { cpu: '1' },
        accessModes: [],
        persistentVolumeReclaimPolicy: 'X',
        hostPath: { path: '/' },
        nfs: { server: 's', path: '/' },
        nodeAffinity: {},
        volumeMode: 'X',
        mountOptions: ['a'],
      },
    }),
  ),
  post(
    '/api/v1/persistentvolumes',
    object('v1', 'PersistentVolume', 'bad', {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        local: { path: '' },
        claimRef: { name: '' },
      },
    }),
  ),
  post(
    '/api/v1/nodes',
    object('v1', 'Node', 'bad', {
      spec: {
        podCIDRs: ['x', '10.0.0.0/24', '10.0.1.0/24'],
        taints: [
          { key: '', effect: '' },
          { key: 'a', effect: 'X' },
          { key: 'a', effect: 'X', value: 'b c' },
        ],
        configSource: {},
        providerID: 'x',
      },
      status: {
        addresses: [
          { type: 'InternalIP', address: 'a' },
          { type: 'InternalIP', address: 'a' },
        ],
        capacity: { cpu: '-1' },
        images: [{ names: [] }],
      },
    }),
  ),
  post('/api/v1/namespaces', object('v1', 'Namespace', 'Bad_', { spec: { finalizers: ['x'] } })),
  post(
    `${CORE}/resourcequotas`,
    object('v1', 'ResourceQuota', 'bad', {
      spec: {
        hard: { pods: '1500m', 'requests.cpu': '-1', 'bad name': '1', 'count/x': '1' },
        scopes: ['BestEffort', 'NotBestEffort', 'X'],
        scopeSelector: {
          matchExpressions: [
            { scopeName: 'PriorityClass', operator: 'In' },
            { scopeName: 'X', operator: 'Y' },
          ],
        },
      },
    }),
  ),
  post(
    `${CORE}/limitranges`,
    object('v1', 'LimitRange', 'bad', {
      spec: {
        limits: [
          { type: 'Pod', default: { cpu: '1' }, min: { cpu: '2' }, max: { cpu: '1' } },
          { type: 'Pod' },
          {
            type: 'Container',
            max: { cpu: '1' },
            default: { cpu: '2' },
            defaultRequest: { cpu: '3' },
            maxLimitRequestRatio: { cpu: '0.5' },
          },
          { type: 'PersistentVolumeClaim', max: { storage: '1' } },
        ],
      },
    }),
  ),
  post(
    `${CORE}/serviceaccounts`,
    object('v1', 'ServiceAccount', 'Bad_', {
      secrets: [{ name: 'x' }],
      imagePullSecrets: [{ name: 'y' }],
    }),
  ),
  post(
    `${CORE}/replicationcontrollers`,
    object('v1', 'ReplicationController', 'bad', {
      spec: { replicas: -1, selector: { a: 'b' }, template: template({ restartPolicy: 'Never' }) },
    }),
  ),
  post(
    `${CORE}/podtemplates`,
    object('v1', 'PodTemplate', 'bad', { template: template({ containers: [] }) }),
  ),
  post(
    `${NET}/ingresses`,
    object('networking.k8s.io/v1', 'Ingress', 'bad', {
      spec: {
        ingressClassName: 'A_',
        tls: [{ hosts: ['A_'], secretName: 'A_' }],
        defaultBackend: { service: { name: '', port: { name: 'A_', number: 0 } } },
        rules: [
          { host: '1.2.3.4' },
          {
            host: '*.A',
            http: {
              paths: [
                { path: 'rel', pathType: 'Exact', backend: {} },
                {
                  path: '/a',
                  backend: { service: { name: 'x', port: {} }, resource: { kind: 'x', name: 'y' } },
                },
              ],
            },
          },
        ],
      },
    }),
  ),
  post(`${NET}/ingresses`, object('networking.k8s.io/v1', 'Ingress', 'bad', { spec: {} })),
  post(
    `${NET}/networkpolicies`,
    object('networking.k8s.io/v1', 'NetworkPolicy', 'bad', {
      spec: {
        podSelector: { matchExpressions: [{ key: 'a', operator: 'X' }] },
        policyTypes: ['X', 'Egress', 'Egress'],
        ingress: [
          {
            ports: [
              { protocol: 'X', port: 0 },
              { port: 'A_', endPort: 5 },
              { port: 10, endPort: 5 },
            ],
            from: [
              {},
              { ipBlock: { cidr: 'x', except: ['y'] }, podSelector: {} },
              { ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/8'] } },
            ],
          },
        ],
      },
    }),
  ),
  post(
    '/apis/networking.k8s.io/v1/ingressclasses',
    object('networking.k8s.io/v1', 'IngressClass', 'bad', {
      spec: { controller: 'none', parameters: { kind: '', name: '', scope: 'X' } },
    }),
  ),
  post(
    '/apis/networking.k8s.io/v1/ipaddresses',
    object('networking.k8s.io/v1', 'IPAddress', 'bad', { spec: { parentRef: {} } }),
  ),
  post(
    '/apis/networking.k8s.io/v1/servicecidrs',
    object('networking.k8s.io/v1', 'ServiceCIDR', 'bad', {
      spec: { cidrs: ['x', '10.0.0.1/24', '10.1.0.0/24'] },
    }),
  ),
  post(
    '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    object('policy/v1', 'PodDisruptionBudget', 'bad', {
      spec: {
        minAvailable: -1,
        maxUnavailable: '200%',
        unhealthyPodEvictionPolicy: 'X',
        selector: { matchLabels: { 'a b': 'c' } },
      },
    }),
  ),
  post(
    '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
    object('autoscaling/v2', 'HorizontalPodAutoscaler', 'bad', {
      spec: {
        minReplicas: 5,
        maxReplicas: 1,
        scaleTargetRef: {},
        metrics: [
          { type: 'Resource' },
          { type: 'X' },
          {
            type: 'Pods',
            pods: { metric: {}, target: { type: 'Utilization', averageUtilization: 0 } },
          },
        ],
        behavior: {
          scaleUp: {
            selectPolicy: 'X',
            stabilizationWindowSeconds: 9999,
            policies: [{ type: 'X', value: 0, periodSeconds: 0 }],
          },
        },
      },
    }),
  ),
  post(
    '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers',
    object('autoscaling/v1', 'HorizontalPodAutoscaler', 'bad', {
      spec: { minReplicas: 0, maxReplicas: 0, targetCPUUtilizationPercentage: 0 },
    }),
  ),
  post(
    '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    object('coordination.k8s.io/v1', 'Lease', 'bad', {
      spec: {
        leaseDurationSeconds: 0,
        leaseTransitions: -1,
        holderIdentity: '',
        strategy: 'X',
        preferredHolder: '',
      },
    }),
  ),
  post(
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    object('scheduling.k8s.io/v1', 'PriorityClass', 'system-bad', {
      value: 2_000_000_000,
      preemptionPolicy: 'X',
    }),
  ),
  post(
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    object('scheduling.k8s.io/v1', 'PriorityClass', 'bad', {
      value: 2_000_000_000,
      globalDefault: true,
    }),
  ),
  post(
    '/apis/node.k8s.io/v1/runtimeclasses',
    object('node.k8s.io/v1', 'RuntimeClass', 'bad', {
      handler: 'A_',
      overhead: { podFixed: { cpu: '-1' } },
      scheduling: { nodeSelector: { 'a b': 'c' }, tolerations: [{ operator: 'X' }] },
    }),
  ),
  post(
    `${STORAGE}/storageclasses`,
    object('storage.k8s.io/v1', 'StorageClass', 'bad', {
      provisioner: 'A B',
      reclaimPolicy: 'X',
      volumeBindingMode: 'X',
      parameters: { '': 'x' },
      allowedTopologies: [{ matchLabelExpressions: [{ key: '', values: [] }] }],
    }),
  ),
  post(
    `${STORAGE}/csidrivers`,
    object('storage.k8s.io/v1', 'CSIDriver', 'Bad_', {
      spec: {
        fsGroupPolicy: 'X',
        volumeLifecycleModes: ['X'],
        tokenRequests: [{ audience: 'a', expirationSeconds: 1 }, { audience: 'a' }],
      },
    }),
  ),
  post(
    `${STORAGE}/csinodes`,
    object('storage.k8s.io/v1', 'CSINode', 'bad', {
      spec: {
        drivers: [
          { name: 'A_', nodeID: '', topologyKeys: ['', 'a b'], allocatable: { count: -1 } },
          { name: 'A_', nodeID: 'x' },
        ],
      },
    }),
  ),
  post(
    `${STORAGE}/volumeattachments`,
    object('storage.k8s.io/v1', 'VolumeAttachment', 'bad', {
      spec: { attacher: 'A B', nodeName: 'A_', source: {} },
    }),
  ),
  post(
    `${RBAC}/clusterroles`,
    object('rbac.authorization.k8s.io/v1', 'ClusterRole', 'bad', {
      rules: [
        { verbs: [] },
        { verbs: ['get'] },
        { verbs: ['get'], resources: ['x'], nonResourceURLs: ['/x'] },
        { verbs: ['get'], nonResourceURLs: ['*/x'] },
      ],
      aggregationRule: { clusterRoleSelectors: [] },
    }),
  ),
  post(
    `${RBAC}/namespaces/default/roles`,
    object('rbac.authorization.k8s.io/v1', 'Role', 'bad', {
      rules: [
        { verbs: ['get'], nonResourceURLs: ['/x'] },
        { verbs: ['get'], apiGroups: [''], resources: [''] },
      ],
    }),
  ),
  post(
    `${RBAC}/clusterrolebindings`,
    object('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'bad', {
      roleRef: { kind: 'Role', name: '', apiGroup: 'x' },
      subjects: [
        { kind: 'X', name: '' },
        { kind: 'ServiceAccount', name: 'A_', apiGroup: 'x' },
        { kind: 'User', name: '', namespace: 'x' },
      ],
    }),
  ),
  post(
    `${RBAC}/namespaces/default/rolebindings`,
    object('rbac.authorization.k8s.io/v1', 'RoleBinding', 'bad', {
      roleRef: { kind: 'X', name: 'a/b', apiGroup: '' },
    }),
  ),
  post(
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    object('certificates.k8s.io/v1', 'CertificateSigningRequest', 'bad', {
      spec: { request: 'AAAA', signerName: 'bad', usages: [], expirationSeconds: 1 },
    }),
  ),
  post(
    '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
    object('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', 'bad', {
      spec: {
        matchingPrecedence: 0,
        priorityLevelConfiguration: {},
        distinguisherMethod: { type: 'X' },
        rules: [{ subjects: [] }, { subjects: [{ kind: 'X' }], resourceRules: [{ verbs: [] }] }],
      },
    }),
  ),
  post(
    '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
    object('flowcontrol.apiserver.k8s.io/v1', 'PriorityLevelConfiguration', 'bad', {
      spec: {
        type: 'Limited',
        exempt: {},
        limited: {
          nominalConcurrencyShares: -1,
          limitResponse: {
            type: 'Queue',
            queuing: { queues: -1, handSize: 9, queueLengthLimit: -1 },
          },
        },
      },
    }),
  ),
  post(
    '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    object('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'bad', {
      webhooks: [
        {
          name: 'bad',
          clientConfig: {},
          sideEffects: 'Some',
          admissionReviewVersions: ['v9'],
          timeoutSeconds: 99,
          failurePolicy: 'X',
          matchPolicy: 'X',
          rules: [
            {
              operations: ['X'],
              apiGroups: [],
              apiVersions: ['*', 'v1'],
              resources: ['*/*', 'a'],
              scope: 'X',
            },
          ],
          matchConditions: [
            { name: '', expression: '1 +' },
            { name: 'a', expression: '1' },
          ],
        },
      ],
    }),
  ),
  post(
    '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
    object('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', 'bad', {
      webhooks: [
        {
          name: 'a.b.c',
          clientConfig: {
            url: 'http://x',
            service: { name: '', namespace: '', port: 0, path: 'x//y' },
          },
          sideEffects: 'None',
          admissionReviewVersions: [],
          reinvocationPolicy: 'X',
        },
        {
          name: 'a.b.c',
          clientConfig: { url: 'https://u:p@x/?q#f' },
          sideEffects: 'None',
          admissionReviewVersions: ['v1', 'v1'],
        },
      ],
    }),
  ),
  post(
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'bad', {
      spec: {
        group: 'x',
        names: { plural: 'A', kind: 'a', shortNames: ['B'], categories: ['C'] },
        scope: 'X',
        versions: [
          { name: 'V', served: true, storage: false },
          { name: 'V', served: true, storage: false },
        ],
      },
    }),
  ),
  post(
    '/apis/apiregistration.k8s.io/v1/apiservices',
    object('apiregistration.k8s.io/v1', 'APIService', 'bad', {
      spec: {
        group: 'x',
        version: '',
        groupPriorityMinimum: 0,
        versionPriority: 0,
        service: { name: '', namespace: '' },
        insecureSkipTLSVerify: true,
        caBundle: 'AAAA',
      },
    }),
  ),
  post(
    '/apis/resource.k8s.io/v1/deviceclasses',
    object('resource.k8s.io/v1', 'DeviceClass', 'bad', {
      spec: {
        selectors: [{}, { cel: { expression: '1 +' } }, { cel: { expression: '"x"' } }],
        config: [{}, { opaque: { driver: 'A_', parameters: 'x' } }],
      },
    }),
  ),
  post(
    '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims',
    object('resource.k8s.io/v1', 'ResourceClaim', 'bad', {
      spec: {
        devices: {
          requests: [
            { name: 'A_' },
            { name: 'a', exactly: { deviceClassName: '', allocationMode: 'X', count: -1 } },
            { name: 'a', exactly: {}, firstAvailable: [] },
          ],
          constraints: [{ requests: ['none'] }],
          config: [{ requests: ['none'] }],
        },
      },
    }),
  ),
  post(
    '/apis/resource.k8s.io/v1/resourceslices',
    object('resource.k8s.io/v1', 'ResourceSlice', 'bad', {
      spec: {
        driver: 'A_',
        pool: { name: '', resourceSliceCount: 0 },
        nodeName: 'x',
        allNodes: true,
        devices: [
          {
            name: 'A_',
            attributes: { 'a b': {}, c: { int: 1, string: 'x' } },
            capacity: { '': { value: '1' } },
          },
          { name: 'A_' },
        ],
      },
    }),
  ),
];

const fieldValidation: readonly Call[] = [
  '',
  '&fieldValidation=Strict',
  '&fieldValidation=Warn',
  '&fieldValidation=Ignore',
].flatMap((how) => [
  post(
    `${CORE}/pods?dryRun=All${how}`,
    pod('fv', {
      unknown: 1,
      containers: [container({ unknown: { a: 1 }, env: [{ name: 'a', vale: 'x' }] })],
    }),
  ),
  post(
    `${APPS}/deployments?dryRun=All${how}`,
    JSON.stringify(deployment('fv')).replace(
      '"replicas":2',
      '"replicas":2,"replicas":3,"Replicas":4',
    ),
  ),
  put(`${CORE}/configmaps/fv?dryRun=All${how}`, configMap('fv', { nested: { a: [{ b: 1 }] } })),
  patch(`${CORE}/configmaps/fv?dryRun=All${how}`, { nested: 1 }),
]);

export const validationCalls: readonly Call[] = [
  ...badPods,
  ...badMetadata,
  ...others,
  post(`${CORE}/configmaps`, { ...configMap('fv'), ...meta('fv') }),
  ...fieldValidation,
  remove(`${CORE}/configmaps/fv`),
  get(`${CORE}/configmaps`),
];
