// The suites of Go modules that test controllers against servers of envtest. Each package is a test
// program, which finds its definitions relative to its own folder.

export interface Suite {
  readonly module: string;
  /** The version that was made for the Kubernetes version of this API. */
  readonly version: string;
  /** Whether the packages are suites of Ginkgo. */
  readonly ginkgo: boolean;
  /** The packages that start a server, relative to the module; `.` is the module's own. */
  readonly packages: readonly string[];
  /**
   * A pattern as `go test -skip` takes it: tests that download a server of their own, and so say
   * nothing about this one, or that need a mistake of upstream's.
   */
  readonly skip: string;
}

export const suites: readonly Suite[] = [
  {
    module: 'sigs.k8s.io/controller-runtime',
    version: 'v0.24.1',
    ginkgo: true,
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
  // Flux applies everything by server-side apply: drift, ownership that is taken over, waits.
  {
    module: 'github.com/fluxcd/pkg/ssa',
    version: 'v0.76.0',
    ginkgo: false,
    packages: ['.', 'jsondiff'],
    // Two tests expect an apply to fail, of whose object an older version does not have a default. The
    // third fails where the tests before it were fast, and spent what the client's rate allows.
    skip: '^TestApply(All)?_MigrateAPIVersion$|^TestWaitForSet_JobWithTTL$',
  },
];
