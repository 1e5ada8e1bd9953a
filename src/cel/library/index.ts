// The libraries, and which of them Kubernetes has.

import type { Library } from '../declarations.ts';
import { bindingsLibrary } from './bindings.ts';
import { optionalLibrary } from './optional.ts';
import { twoVariableLibrary } from './two-variables.ts';

export const allLibraries: readonly Library[] = [optionalLibrary, twoVariableLibrary, bindingsLibrary];
