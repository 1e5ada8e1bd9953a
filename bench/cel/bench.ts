// Measures how many expressions of policies and device selectors are evaluated per second. Our
// evaluator counts costs. Another evaluator of the same language, which counts none, runs in turns
// with it.

import { celEnv, parse, plan } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { Environment, kubernetesLibraries, types } from '#cel/index.ts';
import { heading, show } from '../report.ts';

const ROUNDS = 5;
const ROUND_MS = 150;

const OBJECT = {
  metadata: { name: 'web', labels: { app: 'web', tier: 'front' } },
  spec: {
    replicas: 3,
    containers: [
      {
        name: 'main',
        image: 'registry.example/web:1.2.3',
        resources: { limits: { memory: '128Mi' } },
      },
      {
        name: 'side',
        image: 'registry.example/side:1.0.0',
        resources: { limits: { memory: '64Mi' } },
      },
    ],
  },
};
const DEVICE = {
  driver: 'gpu.example.com',
  attributes: { 'gpu.example.com': { model: 'a100', index: 2 } },
};

const EXPRESSIONS: readonly {
  readonly what: string;
  readonly source: string;
  readonly alone?: true;
}[] = [
  {
    what: 'two comparisons of a policy',
    source: 'object.spec.replicas <= 5 && object.metadata.name.startsWith("w")',
  },
  {
    what: 'a loop over containers',
    source:
      'object.spec.containers.all(c, c.image.startsWith("registry.example/") && c.name != "")',
  },
  {
    what: 'a device selector',
    source:
      'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "a100"',
  },
  {
    what: 'quantities of containers',
    source:
      'object.spec.containers.all(c, quantity(c.resources.limits.memory).isLessThan(quantity("1Gi")))',
    alone: true,
  },
];

/** Returns the calls per second of processor time, in each round. */
function rates(call: () => unknown): number[] {
  const found: number[] = [];
  let batch = 256;
  for (let round = -2; round < ROUNDS; round++) {
    const began = process.cpuUsage();
    for (let i = 0; i < batch; i++) call();
    const { user, system } = process.cpuUsage(began);
    const spent = Math.max(user + system, 1);
    if (round >= 0) found.push((batch / spent) * 1e6);
    batch = Math.max(256, Math.round((batch * ROUND_MS * 1000) / spent));
  }
  return found;
}

const best = (values: readonly number[]): number => Math.max(...values);

/** Measures the other evaluator with the same values, converted for it once. */
function other(source: string): number {
  const program = plan(celEnv({ funcs: strings }), parse(source));
  // The other evaluator's ints are bigints.
  const convert = (value: unknown): unknown => {
    if (typeof value === 'number') return BigInt(value);
    if (Array.isArray(value)) return value.map(convert);
    if (typeof value !== 'object' || value === null) return value;
    return new Map(Object.entries(value).map(([key, item]) => [key, convert(item)]));
  };
  const values = { object: convert(OBJECT), device: convert(DEVICE) } as never;
  if (program(values) !== true)
    throw new Error(`the other evaluator does not say yes to ${source}`);
  return best(rates(() => program(values)));
}

export function cel(): void {
  const environment = new Environment({
    variables: { object: types.DYN, device: types.DYN },
    libraries: kubernetesLibraries,
  });
  heading('CEL: evaluations a second, with costs');
  const activation = { object: OBJECT, device: DEVICE };
  for (const { what, source, alone } of EXPRESSIONS) {
    const { program, error } = environment.compile(source);
    if (program === undefined) throw error;
    if (program.evaluate(activation).value !== true) throw new Error(`${source} is not true`);
    show({
      what,
      unit: '/s',
      values: rates(() => program.evaluate(activation)),
      goal: { atLeast: 140_000 },
      ...(alone !== true && { comparedWith: { name: '@bufbuild/cel', value: other(source) } }),
    });
  }
  const missing = environment.compile('device.attributes["other"].model == "x"').program;
  show({
    what: 'a selector that fails',
    unit: '/s',
    values: rates(() => missing?.evaluate(activation)),
  });
  const [first] = EXPRESSIONS;
  show({
    what: 'compiled',
    unit: '/s',
    values: rates(() => environment.compile((first as { source: string }).source)),
  });
}
