import { Document, isCollection, isPair, stringify, visit } from 'yaml';
import { apiRoutes } from './api.ts';
import { describeApi } from './document.ts';

/** Prints openapi.yaml, in which what fits into a line is one: `npm run describe:operators-api`. */
const width = 110;
const document = new Document(describeApi(apiRoutes), { aliasDuplicateObjects: false });
visit(document, {
  Collection(_key, node, path) {
    const indent = 2 * path.filter(isCollection).length;
    const parent = path.at(-1);
    const name = isPair(parent) ? String(parent.key).length + 2 : 0;
    const text = stringify(node.toJS(document), { collectionStyle: 'flow', lineWidth: 0 }).length;
    node.flow = indent + name + text <= width;
  },
});
process.stdout.write(document.toString({ lineWidth: width }));
