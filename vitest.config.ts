// Four projects: unit tests beside the code, scenarios of several components, and end-to-end tests with the real tools, of which those that
// share the machine run one at a time: after all others, or beside them (tools/test-runs.js).
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const inRoot = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** End-to-end tests that use the machine's containers, kernel, disk or fixed ports, or that measure it. */
const alone = [
  'clean',
  'container-image',
  'containerd',
  'containerd-runtime',
  'csi',
  'dns',
  'full-disk',
  'hostile-pods',
  'ingress',
  'inspect',
  'kubeadm',
  'kube-proxy',
  'node-images',
  'node-lifecycle',
  'pressure',
  'process',
  'proxy',
  'reset',
  'several-machines',
  'volumes',
].map((name) => `test/e2e/${name}.test.ts`);

/**
 * End-to-end tests come last: while the unit tests run, those that share the machine run beside them, whose interfaces that come and go
 * would disturb browsers.
 */
const ORDER = ['unit', 'scenarios', 'e2e', 'e2e-machine'];

/** Files that take long though they are short: at the end of a run, processors would wait for them. */
const LONG = ['/e2e/conformance.test.ts', '/console/oidc.test.ts', '/e2e/kinds.test.ts'];

/**
 * Sorts by project. Within a project, the files of LONG are first, then those that took longest in the last run; without one, the largest
 * are first.
 */
class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project }: TestSpecification): number => ORDER.indexOf(project.name);
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      LONG.some((name) => moduleId.endsWith(name));
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => place(a) - place(b) || Number(isLong(b)) - Number(isLong(a)));
  }
}

export default defineConfig({
  resolve: {
    // Examples import the package. Here they get the sources.
    alias: [
      { find: /^coxswain$/, replacement: inRoot('src/exports/index.ts') },
      {
        find: /^coxswain\/api\/meta\/v1$/,
        replacement: inRoot('src/api/machinery/meta/v1/index.ts'),
      },
      {
        find: /^coxswain\/api\/(\w+\/\w+)$/,
        replacement: `${inRoot('src/api/groups')}/$1/index.ts`,
      },
      { find: /^coxswain\/(\w+)$/, replacement: `${inRoot('src/exports')}/$1.ts` },
    ],
  },
  test: {
    pool: 'forks',
    // The projects import the same sources: each is compiled once, and again when it was edited.
    experimental: { fsModuleCache: true, fsModuleCachePath: inRoot('.cache/modules') },
    // Limits end what hangs. They are far above what tests take, since the machine may be busy.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
    globalSetup: ['tools/test-programs.ts'],
    sequence: { sequencer: TestOrder },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.{ts,tsx}', 'tools/**/*.test.ts', 'bench/**/*.test.ts'],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'scenarios',
          include: [
            'examples/**/*.test.ts',
            'test/scenarios/**/*.test.ts',
            'test/security/**/*.test.ts',
            'test/skew/**/*.test.ts',
            'test/swap/**/*.test.ts',
            'test/fuzz/**/*.test.ts',
            'test/conformance/**/*.test.ts',
            'test/critest/**/*.test.ts',
            'test/differential/**/*.test.ts',
            'test/envtest-suites/**/*.test.ts',
            'test/integration-suites/**/*.test.ts',
            'test/gateway/**/*.test.ts',
            'test/kubectl-commands/**/*.test.ts',
            'test/museum/**/*.test.ts',
            'test/torture/**/*.test.ts',
          ],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: alone,
          // These tests start other processes and keep no state in their own, so the files of a worker share modules.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e-machine',
          include: alone,
          globalSetup: ['test/e2e/clean-up.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
