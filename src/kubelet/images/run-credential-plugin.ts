// Runs a credential provider plugin as a program of the node.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { CredentialProvider } from './credential-provider-config.ts';
import type { RunPlugin } from './credential-plugins.ts';

const MAX_OUTPUT = 1024 * 1024;
const MAX_ERROR = 2000;

/** Returns the function that runs plugins of the directory. Plugins have the kubelet's variables. */
export function pluginsIn(directory: string): RunPlugin {
  return (provider, input, signal) =>
    new Promise((resolve, reject) => {
      const fail = (problem: string): void =>
        reject(new Error(`error execing credential provider plugin ${provider.name}: ${problem}`));
      const child = spawn(join(directory, provider.name), provider.args, {
        env: variables(provider),
        stdio: 'pipe',
        signal,
        killSignal: 'SIGKILL',
      });
      const output: Buffer[] = [];
      let size = 0;
      let problem = '';
      child.stdout.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size <= MAX_OUTPUT) output.push(chunk);
        else child.kill('SIGKILL');
      });
      child.stderr.on('data', (chunk: Buffer) => {
        problem += chunk.toString().slice(0, MAX_ERROR - problem.length);
      });
      child.on('error', (error) => fail(error.message));
      child.on('close', (code, killer) => {
        if (size > MAX_OUTPUT) fail(`its response is longer than ${MAX_OUTPUT} bytes`);
        else if (code === 0) resolve(Buffer.concat(output).toString());
        else fail(`${code === null ? `signal: ${killer}` : `exit status ${code}`}: ${problem}`);
      });
      // A program that ends early closes its input. Its exit code gives the reason.
      child.stdin.on('error', () => undefined);
      child.stdin.end(input);
    });
}

function variables({ env }: CredentialProvider): NodeJS.ProcessEnv {
  return { ...process.env, ...env };
}
