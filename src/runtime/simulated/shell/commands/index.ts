// The commands of a simulated container, by name.

import type { CommandFunction } from '../process.ts';
import { fileCommands } from './files.ts';
import { networkCommands } from './network.ts';
import { systemCommands } from './system.ts';
import { tar } from './tar.ts';
import { test } from './test.ts';
import { textCommands } from './text.ts';

export const COMMANDS: Readonly<Record<string, CommandFunction>> = {
  ...fileCommands,
  ...networkCommands,
  ...systemCommands,
  ...textCommands,
  tar,
  test,
  '[': test,
};
