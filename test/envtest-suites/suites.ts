// The suites of Go modules that test controllers against servers of envtest. Each package is a test
// program, which finds its definitions relative to its own folder.

export interface Suite {
  readonly module: string;
  /** The version that was made for the Kubernetes version of this API. */
  readonly version: string;
  /** The packages that start a server, relative to the module. */
  readonly packages: readonly string[];
  /**
   * A pattern as `go test -skip` takes it: tests that download a server of their own, and so say
   * nothing about this one.
   */
  readonly skip: string;
}

export const suites: readonly Suite[] = [
  {
    module: 'sigs.k8s.io/controller-runtime',
    version: 'v0.24.1',
    packages: [
      'pkg/builder',
      'pkg/cache',
      'pkg/client',
      'pkg/client/apiutil',
      'pkg/cluster',
      'pkg/controller',
      'pkg/controller/controllerutil',
      'pkg/envtest',
      'pkg/handler',
      'pkg/internal/controller',
      'pkg/internal/recorder',
      'pkg/manager',
      'pkg/manager/internal/integration',
      'pkg/metrics/filters',
      'pkg/reconcile',
      'pkg/source',
      'pkg/webhook',
    ],
    skip: '^Test(ApiMachinery|LazyRestMapperProvider)$/^aggregatedDiscovery=false$',
  },
];
