// The libraries, and which of them Kubernetes has.

import type { Library } from '../declarations.ts';
import { bindingsLibrary } from './bindings.ts';
import { encoderLibrary } from './encoders.ts';
import { mathLibrary } from './math.ts';
import { optionalLibrary } from './optional.ts';
import { setLibrary } from './sets.ts';
import { stringLibrary } from './strings.ts';
import { twoVariableLibrary } from './two-variables.ts';

export const allLibraries: readonly Library[] = [
  optionalLibrary,
  twoVariableLibrary,
  bindingsLibrary,
  stringLibrary,
  mathLibrary,
  setLibrary,
  encoderLibrary,
];
