// Shutdowns of a machine with systemd-logind, by systemd's own programs: systemd-inhibit holds the
// lock (a file descriptor that a program of ours could not receive), busctl reads properties and
// signals of the system bus. kubelets run as root, which busctl needs for signals.

import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { execute } from '#machinery/execute.ts';
import type { InhibitLock, ShutdownInhibitor } from './inhibitor.ts';

const SERVICE = 'org.freedesktop.login1';
const OBJECT = '/org/freedesktop/login1';
const INTERFACE = 'org.freedesktop.login1.Manager';
const CONFIG_DIRECTORY = '/etc/systemd/logind.conf.d';
const CONFIG_FILE = `${CONFIG_DIRECTORY}/99-kubelet.conf`;
const MATCH = `type='signal',path='${OBJECT}',interface='${INTERFACE}',member='PrepareForShutdown'`;
/** A line of busctl about this signal has some hundred characters. */
const MAX_LINE = 64 * 1024;

export class LogindInhibitor implements ShutdownInhibitor {
  async maxDelay(): Promise<number> {
    const property = 'InhibitDelayMaxUSec';
    const text = await run('busctl', [
      ...busAddress(),
      'get-property',
      SERVICE,
      OBJECT,
      INTERFACE,
      property,
    ]);
    const microseconds = /^t (\d+)$/.exec(text.trim())?.[1];
    if (microseconds === undefined)
      throw new Error(`${property} from logind is not a uint64 as expected`);
    return Number(microseconds) / 1000;
  }

  /** Writes the configuration of logind, and lets it read that. */
  async requestMaxDelay(delayMs: number): Promise<void> {
    const seconds = Math.ceil(delayMs / 1000);
    const text = `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${seconds}\n`;
    await mkdir(CONFIG_DIRECTORY, { recursive: true, mode: 0o755 });
    await writeFile(CONFIG_FILE, text, { mode: 0o644 });
    await run('systemctl', ['kill', '--signal=SIGHUP', 'systemd-logind.service']);
  }

  /** The lock is held while a child process lives, which ends with the kubelet's pipe, too. */
  async inhibit(): Promise<InhibitLock> {
    const child = spawn(
      'systemd-inhibit',
      [
        '--what=shutdown',
        '--who=kubelet',
        '--why=Kubelet needs time to handle node shutdown',
        '--mode=delay',
        'sh',
        '-c',
        'echo held; exec cat',
      ],
      { stdio: ['pipe', 'pipe', 'pipe'] },
    );
    let problem = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      problem = (problem + text).slice(-1000);
    });
    const failed = once(child, 'close').then(() => {
      throw new Error(`failed creating systemd inhibitor: ${problem.trim()}`);
    });
    await Promise.race([once(child.stdout, 'data'), failed]);
    failed.catch(() => undefined);
    child.stdin.on('error', () => undefined);
    return { release: () => void child.stdin.end() };
  }

  async *watch(signal: AbortSignal): AsyncIterable<boolean> {
    const child = spawn('busctl', ['monitor', '--json=short', `--match=${MATCH}`], {
      stdio: ['ignore', 'pipe', 'ignore'],
      signal,
    });
    const lines = createInterface({ input: child.stdout });
    // Lines of a stream that is destroyed would not end by themselves.
    child.once('error', () => lines.close());
    child.once('close', () => lines.close());
    try {
      for await (const line of lines) {
        const begins = shutdownOf(line);
        if (begins !== undefined) yield begins;
      }
    } finally {
      child.kill();
    }
  }
}

/** Returns the argument of the signal PrepareForShutdown; undefined for any other line. */
export function shutdownOf(line: string): boolean | undefined {
  if (line.length > MAX_LINE) return undefined;
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch (error) {
    // busctl prints a text before the first message.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const { member, payload } = message as {
    readonly member?: unknown;
    readonly payload?: { readonly data?: readonly unknown[] };
  };
  const [begins] = payload?.data ?? [];
  return member === 'PrepareForShutdown' && typeof begins === 'boolean' ? begins : undefined;
}

/** Returns the flag for a bus at another address than the system's; programs have no variables. */
function busAddress(): readonly string[] {
  const address = process.env['DBUS_SYSTEM_BUS_ADDRESS'];
  return address === undefined ? [] : [`--address=${address}`];
}

/** Returns the program's output. Rejects if it fails. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await execute([program, ...args], '');
  if (code === 0) return stdout;
  throw new Error(`${program}: ${stderr.trim()}`);
}
