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

/**
 * Files of packages that are executable in upstream's repository; modules of Go have no modes. They
 * are relative to the folder of a package.
 */
export const executables: Readonly<Record<string, readonly string[]>> = {
  client: ['testdata/exec-plugin.sh'],
};

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
      'apiserver/cel/authorizerselector/selectorenabled',
      'apiserver/certreload',
      'apiserver/discovery',
      'apiserver/flowcontrol',
      'apiserver/httpproxy',
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
      'dra/ga',
      'dryrun',
      'dualstack',
      'endpoints',
      'endpointslice',
      'etcd',
      'events',
      'evictions',
      'examples',
      'garbagecollector',
      'job',
      'metrics',
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
      'scheduler/extender',
      'scheduler/filters',
      'scheduler/plugins',
      'scheduler/preemption',
      'scheduler/preemption/misc',
      'scheduler/preemption/nominatednodename',
      'scheduler/queueing',
      'scheduler/scoring',
      'scheduler/taint',
      'secrets',
      'service',
      'serviceaccount',
      'servicecidr',
      'statefulset',
      'storageclasses',
      'storageversionmigrator',
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
