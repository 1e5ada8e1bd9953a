// Commands that print information about the container, and commands that wait.

import { MAX_TEXT, RunsForever } from '../kernel.ts';
import {
  CommandError,
  type CommandFunction,
  complain,
  parseOptions,
  print,
  type Process,
} from '../process.ts';

/** The cost of some kilobytes of output: an endless stream ends soon, ordinary output does not. */
const CHUNK_COST = 20;

const SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };

const sleep: CommandFunction = async ({ kernel, args }) => {
  if (args.length === 0) throw new CommandError('missing operand');
  let ms = 0;
  for (const arg of args) {
    if (arg === 'infinity' || arg === 'inf') throw new RunsForever('sleep infinity');
    ms += duration(arg);
  }
  await kernel.sleep(ms);
  return 0;
};

/** Parses a duration. Returns milliseconds. */
function duration(text: string): number {
  const match = /^(\d+(?:\.\d*)?|\.\d+)([smhd]?)$/.exec(text);
  if (match === null) throw new CommandError(`invalid number '${text}'`);
  return Number(match[1]) * SECONDS[match[2] as string]! * 1000;
}

const TIMED_OUT = 124;

const timeout: CommandFunction = async (process) => {
  const { operands } = parseOptions(process.args, '', 'ks');
  const [limit, ...command] = operands;
  if (limit === undefined || command.length === 0) throw new CommandError('missing operand');
  const seconds = duration(limit);
  const work = process.run(command).catch((error: unknown) => {
    if (error instanceof RunsForever)
      return process.kernel.blocked(new Promise<number>(() => undefined));
    throw error;
  });
  // The command continues in the background after its timeout: only its output can be visible then.
  work.catch(() => undefined);
  return await Promise.race([work, process.kernel.sleep(seconds).then(() => TIMED_OUT)]);
};

const env: CommandFunction = async (process) => {
  const { flags, values, operands } = parseOptions(process.args, 'i', 'u', [
    '--ignore-environment',
  ]);
  const variables = new Map(flags.size > 0 ? [] : process.env);
  const unset = values.get('u');
  if (unset !== undefined) variables.delete(unset);
  const command = [...operands];
  while (command[0]?.includes('=') === true) {
    const [name = '', value = ''] = command.shift()!.split(/=(.*)/s);
    variables.set(name, value);
  }
  if (command.length > 0) return await process.run(command, { env: variables });
  await print(process, [...variables].map(([name, value]) => `${name}=${value}\n`).join(''));
  return 0;
};

const printenv: CommandFunction = async (process) => {
  if (process.args.length === 0) return await env(process);
  let code = 0;
  for (const name of process.args) {
    const value = process.env.get(name);
    if (value === undefined) code = 1;
    else await print(process, `${value}\n`);
  }
  return code;
};

const id: CommandFunction = async (process) => {
  const { uid } = process.kernel.config;
  const { flags } = parseOptions(process.args, 'ugnG');
  const name = uid === 0 ? 'root' : String(uid);
  if (flags.size === 0)
    await print(
      process,
      uid === 0
        ? 'uid=0(root) gid=0(root) groups=0(root)\n'
        : `uid=${uid} gid=${uid} groups=${uid}\n`,
    );
  else await print(process, `${flags.has('n') ? name : uid}\n`);
  return 0;
};

const uname: CommandFunction = async (process) => {
  const { flags } = parseOptions(process.args, 'asnrvmo');
  const all = flags.has('a');
  const fields: readonly (readonly [flag: string, value: string])[] = [
    ['s', 'Linux'],
    ['n', process.kernel.config.hostname],
    ['r', 'simulated'],
    ['v', '#1'],
    ['m', 'x86_64'],
    ['o', 'GNU/Linux'],
  ];
  const shown = fields.filter(
    ([flag]) => all || flags.has(flag) || (flags.size === 0 && flag === 's'),
  );
  await print(process, `${shown.map(([, value]) => value).join(' ')}\n`);
  return 0;
};

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const date: CommandFunction = async (process) => {
  const { flags, values, operands } = parseOptions(process.args, 'uR', 'dI', [
    '--utc',
    '--iso-8601=',
  ]);
  const [format = '+%a %b %e %H:%M:%S UTC %Y'] = operands;
  if (values.size > 0 || flags.has('R') || operands.length > 1 || !format.startsWith('+')) {
    throw new CommandError('only +FORMAT and -u are simulated');
  }
  const now = process.kernel.config.clock.now();
  const at = new Date(now);
  const two = (value: number): string => String(value).padStart(2, '0');
  const fields: Readonly<Record<string, () => string>> = {
    Y: () => String(at.getUTCFullYear()),
    m: () => two(at.getUTCMonth() + 1),
    d: () => two(at.getUTCDate()),
    e: () => String(at.getUTCDate()).padStart(2, ' '),
    H: () => two(at.getUTCHours()),
    M: () => two(at.getUTCMinutes()),
    S: () => two(at.getUTCSeconds()),
    N: () => `${String(now % 1000).padStart(3, '0')}000000`,
    s: () => String(Math.floor(now / 1000)),
    a: () => DAYS[at.getUTCDay()]!,
    b: () => MONTHS[at.getUTCMonth()]!,
    F: () => at.toISOString().slice(0, 10),
    T: () => at.toISOString().slice(11, 19),
    Z: () => 'UTC',
    z: () => '+0000',
    n: () => '\n',
    '%': () => '%',
  };
  const text = format.slice(1).replace(/%(.)/g, (whole, letter: string) => {
    if (!Object.hasOwn(fields, letter)) throw new CommandError(`%${letter} is not simulated`);
    return fields[letter]!();
  });
  await print(process, `${text}\n`);
  return 0;
};

const seq: CommandFunction = async (process) => {
  const { values, operands } = parseOptions(
    process.args.map((arg) => (/^-\d/.test(arg) ? ` ${arg}` : arg)),
    'w',
    's',
  );
  const numbers = operands.map((text) => Number(text));
  if (numbers.length === 0 || numbers.length > 3 || numbers.some(Number.isNaN))
    throw new CommandError('invalid number');
  const [first, step, last] =
    numbers.length === 1
      ? [1, 1, numbers[0]]
      : numbers.length === 2
        ? [numbers[0], 1, numbers[1]]
        : numbers;
  if (step === 0) throw new CommandError('zero increment');
  const digits = Math.max(...operands.map((text) => text.split('.')[1]?.length ?? 0));
  const separator = values.get('s') ?? '\n';
  let chunk = '';
  let begun = false;
  for (let i = 0; ; i++) {
    const value = (first as number) + i * step;
    if (step > 0 ? value > (last as number) + 1e-9 : value < (last as number) - 1e-9) break;
    chunk += `${begun ? separator : ''}${value.toFixed(digits)}`;
    begun = true;
    if (chunk.length > 4096) {
      await process.kernel.step(CHUNK_COST);
      await print(process, chunk);
      chunk = '';
    }
  }
  await print(process, begun ? `${chunk}\n` : '');
  return 0;
};

const yes: CommandFunction = async (process) => {
  const line = `${process.args.join(' ') || 'y'}\n`;
  const chunk = line.repeat(Math.max(1, Math.floor(1024 / line.length)));
  for (;;) {
    await process.kernel.step(CHUNK_COST);
    await print(process, chunk);
  }
};

const xargs: CommandFunction = async (process) => {
  const { values, operands } = parseOptions(process.args, 'rt', 'nI');
  const text = (await process.stdin.readAll(MAX_TEXT)).toString();
  const command = operands.length === 0 ? ['echo'] : operands;
  const placeholder = values.get('I');
  if (placeholder !== undefined) {
    let code = 0;
    for (const line of text.split('\n').filter((each) => each !== '')) {
      code =
        (await process.run(command.map((word) => word.replaceAll(placeholder, line)))) === 0
          ? code
          : 123;
    }
    return code;
  }
  const items = text.split(/\s+/).filter((item) => item !== '');
  const size = Number(values.get('n') ?? items.length) || 1;
  if (items.length === 0 && process.args.includes('-r')) return 0;
  let code = 0;
  for (let at = 0; at === 0 || at < items.length; at += size) {
    code = (await process.run([...command, ...items.slice(at, at + size)])) === 0 ? code : 123;
  }
  return code;
};

const line =
  (text: (process: Process) => string): CommandFunction =>
  async (process) => {
    await print(process, `${text(process)}\n`);
    return 0;
  };

const success: CommandFunction = () => Promise.resolve(0);

export const systemCommands: Readonly<Record<string, CommandFunction>> = {
  true: success,
  false: () => Promise.resolve(1),
  sync: success,
  sleep,
  usleep: async ({ kernel, args }) => {
    await kernel.sleep(Number(args[0] ?? 0) / 1000);
    return 0;
  },
  timeout,
  env,
  printenv,
  id,
  uname,
  date,
  seq,
  yes,
  xargs,
  whoami: line(({ kernel }) => (kernel.config.uid === 0 ? 'root' : String(kernel.config.uid))),
  hostname: line(({ kernel }) => kernel.config.hostname),
  pwd: line(({ directory }) => directory),
  nproc: line(() => '1'),
  arch: line(() => 'x86_64'),
  tty: async (process) => {
    await print(process, 'not a tty\n');
    return 1;
  },
  ps: async (process) => {
    await print(process, 'PID   USER     TIME  COMMAND\n    1 root      0:00 sh\n');
    return 0;
  },
  pause: () => Promise.reject(new RunsForever('pause')),
  mount: (process) => complain(process, 'mounts are not simulated'),
};
