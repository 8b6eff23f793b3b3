// The columns of a report's taxonomy, and a layout by rows.
import { hierarchy, partition } from "d3-hierarchy";

export class Taxonomy {
  constructor(data) {
    const columns = data.taxonomy;
    Object.assign(this, columns);
    this.size = columns.label.length;
    this.below = Array.from({ length: this.size }, () => []);
    for (let node = 1; node < this.size; node++) this.below[this.parent[node]].push(node);
    this.sizedBy = "rows";
    this.layOut();
  }

  isLeaf(node) {
    return node > 0 && this.below[node].length === 0;
  }

  path(node) {
    const found = [];
    for (let at = node; at >= 0; at = this.parent[at]) found.unshift(at);
    return found;
  }

  // where each node stands: `from` and `to` of all rows, `level` below the root
  layOut() {
    const own = (node) => {
      if (this.sizedBy === "nodes") return this.below[node].length ? 0 : 1;
      const counts = this.sizedBy === "trained" ? this.trained : null;
      if (counts === null) return this.own[node];
      const inner = this.below[node].reduce((sum, child) => sum + counts[child], 0);
      return Math.max(0, counts[node] - inner);
    };
    const root = hierarchy(0, (node) => this.below[node]).sum(own);
    if (!root.value) root.sum((node) => (this.below[node].length ? 0 : 1));
    root.sort((a, b) => b.value - a.value || a.data - b.data);
    partition().size([1, root.height + 1])(root);
    this.from = new Float64Array(this.size);
    this.to = new Float64Array(this.size);
    this.level = new Int32Array(this.size);
    root.each((place) => {
      this.from[place.data] = place.x0;
      this.to[place.data] = place.x1;
      this.level[place.data] = place.depth;
      this.below[place.data] = (place.children || []).map((child) => child.data);
    });
    this.height = root.height;
  }
}
