// Upstream's integration tests that need an API server, as packages of its published modules. Their
// controllers and schedulers run in the test's own process, from upstream's code.

export interface Suite {
  readonly module: string;
  /** Packages, relative to `test/integration` of the module. */
  readonly packages: readonly string[];
  /**
   * A pattern as `go test -skip` takes it: tests of what another program cannot have, such as an
   * emulated older version.
   */
  readonly skip: string;
}

export const suites: readonly Suite[] = [
  {
    module: 'k8s.io/kubernetes',
    packages: [
      'apimachinery',
      'apimachinery/apply',
      'apiserver',
      'apiserver/admissionwebhook',
      'apiserver/anonymous',
      'apiserver/apply',
      'apiserver/cel',
      'apiserver/certreload',
      'apiserver/discovery',
      'apiserver/flowcontrol',
      'apiserver/oidc',
      'apiserver/openapi',
      'apiserver/podlogs',
      'apiserver/portforward',
      'auth',
      'certificates',
      'client',
      'configmap',
      'controlplane',
      'controlplane/audit',
      'controlplane/transformation',
      'cronjob',
      'daemonset',
      'defaulttolerationseconds',
      'deployment',
      'disruption',
      'dryrun',
      'dualstack',
      'endpoints',
      'endpointslice',
      'etcd',
      'events',
      'evictions',
      'garbagecollector',
      'job',
      'namespace',
      'network',
      'node',
      'podgc',
      'pods',
      'pvc',
      'quota',
      'replicaset',
      'replicationcontroller',
      'scale',
      'scheduler',
      'scheduler/bind',
      'scheduler/eventhandler',
      'scheduler/filters',
      'scheduler/plugins',
      'scheduler/preemption',
      'scheduler/queueing',
      'scheduler/scoring',
      'scheduler/taint',
      'secrets',
      'service',
      'serviceaccount',
      'servicecidr',
      'statefulset',
      'storageclasses',
      'tls',
      'ttlcontroller',
      'volume',
      'volumescheduling',
    ],
    skip: 'CBOR|Emulat|Benchmark',
  },
  {
    module: 'k8s.io/apiextensions-apiserver',
    packages: ['.', 'conversion'],
    skip: 'CBOR',
  },
];
