// Objects as YAML, as clients that ask for it get them.

import { Document, Scalar, visit } from 'yaml';

/** Read as octal numbers and as a merge by readers of later and earlier versions of YAML than what is written here. */
const READ_AS_OTHER = /^([-+]?0o[0-7_]+|<<)$/;

/** Every text comes back as it was: also one of blanks and line ends only, of which a block would lose the blanks. */
export function formatYaml(value: unknown): string {
  const document = new Document(value, { version: '1.1', aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_key, node) {
      const text = node.value;
      if (typeof text !== 'string') return;
      const isBlank = text.includes('\n') && text.trim() === '';
      if (isBlank || READ_AS_OTHER.test(text)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0 });
}
