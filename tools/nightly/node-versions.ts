// Runs tests under every other major version of Node that is supported: those of parts that depend on
// Node's own modules, and of the built program. A deprecation fails them. COXSWAIN_NODES has the
// paths of the programs, as PATH has folders; a version without one is skipped by name.

import { spawn, spawnSync } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chooseNodes, countsIn, type FoundNode } from './found-nodes.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const SHORT: readonly string[] = [
  'src/machinery/net',
  'src/apiserver/http',
  'src/storage/embedded',
  'test/e2e/package.test.ts',
];
const LONG: readonly string[] = [
  'src/machinery',
  'src/storage',
  'src/client',
  'src/apiserver',
  'src/kubelet/server',
  'src/ingress',
  'src/cluster',
  'src/cli',
  'src/console/server',
  'test/security',
  'test/fuzz',
  'test/e2e/package.test.ts',
  'test/e2e/up.test.ts',
  'test/e2e/kubectl.test.ts',
  'test/e2e/roles.test.ts',
  'test/e2e/api-workers.test.ts',
  'test/e2e/encryption.test.ts',
  'test/e2e/simulated.test.ts',
  'test/e2e/aggregation.test.ts',
  'test/e2e/client-node.test.ts',
  'test/e2e/examples.test.ts',
];

/** Returns the version that a program prints. Throws if it does not run. */
function versionOf(program: string): string {
  const { status, stdout, error } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`COXSWAIN_NODES: cannot run ${program}`, { cause: error });
  return stdout.trim();
}

/** Runs the tests. Resolves with the output, which is printed as well. */
async function runTests(
  node: FoundNode,
  files: readonly string[],
): Promise<{ readonly status: number; readonly output: string }> {
  process.stdout.write(`\nNode ${node.version}\n`);
  const child = spawn(node.program, ['tools/bootstrap.js', 'test', ...files], {
    cwd: root,
    env: {
      ...process.env,
      // Commands of packages run the first `node` of the path.
      PATH: [dirname(node.program), process.env['PATH']].join(delimiter),
      NODE_OPTIONS: '--throw-deprecation',
    },
    stdio: ['inherit', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    process.stdout.write(text);
  });
  const status = await new Promise<number>((resolve, reject) =>
    child.once('error', reject).once('close', (code) => resolve(code ?? 1)),
  );
  return { status, output };
}

const files = process.argv.includes('--short') ? SHORT : LONG;
const programs = (process.env['COXSWAIN_NODES'] ?? '').split(delimiter).filter(Boolean);
const { nodes, missing } = chooseNodes(
  programs.map((program) => ({ program, version: versionOf(program) })),
  process.version,
);
const total = { passed: 0, failed: 0, skipped: missing.length };
for (const node of nodes) {
  const { status, output } = await runTests(node, files);
  const counts = countsIn(output);
  if (status !== 0) process.exitCode = 1;
  total.passed += counts?.passed ?? 0;
  total.failed += counts?.failed ?? 1;
  total.skipped += counts?.skipped ?? 0;
}
for (const major of missing)
  process.stdout.write(`skipped: Node ${major}: COXSWAIN_NODES does not have it\n`);
process.stdout.write(
  `\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`,
);
