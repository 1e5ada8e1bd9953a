// cel.bind(name, value, expression): gives a value a name.

import type { Library } from '../declarations.ts';
import { bindMacros } from '../macros.ts';

export const bindingsLibrary: Library = { name: 'bindings', macros: bindMacros };
