import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from './cox.ts';

/** Roles run until they are stopped, and their flags are upstream's; a completion is a script. */
const WITHOUT = [
  'apiserver',
  'completion',
  'controller-manager',
  'csi-driver',
  'dns',
  'envtest etcd',
  'ingress',
  'kubelet',
  'proxy',
  'runtime',
  'scheduler',
];

test('every command that prints something has --output json', () => {
  const without: string[] = [];
  const visit = (command: Command, path: readonly string[]): void => {
    const hasOutput = command.options.some(({ long, argChoices }) => {
      return long === '--output' && argChoices?.includes('json') === true;
    });
    if (command.commands.length === 0 && !hasOutput) without.push(path.join(' '));
    for (const each of command.commands) visit(each, [...path, each.name()]);
  };
  visit(createProgram(), []);
  expect(without.toSorted()).toEqual(WITHOUT);
});
