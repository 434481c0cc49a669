/*
 * Recorder: a TCG plug-in that writes down when functions of the guest's kernel are entered and
 * left, with values of their arguments, and changes nothing of the guest (docs/why.md).
 *
 * QEMU's interface for plug-ins has no clock. The time of an event is the number of instructions
 * that all virtual CPUs have executed, and *anchors* give the guest's own time: after each read of
 * the TSC its value and that number. Whoever reads the stream computes times from both
 * (recorder.rs, crate teiji-why). Where an interrupt or another CPU came before the value could be
 * read, the number is no longer known, and the value alone is a *reading*.
 *
 *     -plugin file=…,hooks=FILE,out=FILE
 *
 * hooks: `per-cpu ADDRESS`, of the kernel's table of bases of the CPUs' own memory, which a CPU is
 * known by; then a line for each place, `ID KIND ADDRESS END VALUE…`, hexadecimal addresses. KIND is `entry`
 * (the instruction at ADDRESS) or `exit` (each return from ADDRESS to END, and each jump out of
 * it). A VALUE is a register, or memory: `rdi`, `rdi+8:4`, `rdi+8>16:4` (of what the pointer at
 * rdi+8 points to); lengths are 1 to 128.
 *
 * out: records of { u8 kind; u8 cpu; u16 id; u32 length; u64 instructions; u8 payload[length] },
 * little-endian, kinds below.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the used part of QEMU's and glib's interfaces (plug-in API 4) ---------------------------- */

typedef uint64_t qemu_plugin_id_t;

typedef struct {
	const char *target_name;
	struct { int min; int cur; } version;
	bool system_emulation;
	union {
		struct { int smp_vcpus; int max_vcpus; } system;
	};
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_register;
struct qemu_plugin_scoreboard;

typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;

typedef struct {
	struct qemu_plugin_register *handle;
	const char *name;
	const char *feature;
} qemu_plugin_reg_descriptor;

typedef struct { uint8_t *data; unsigned int len; } GByteArray;
typedef struct { char *data; unsigned int len; } GArray;

enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS };

typedef void (*qemu_plugin_udata_cb_t)(qemu_plugin_id_t, void *);
typedef void (*qemu_plugin_vcpu_simple_cb_t)(qemu_plugin_id_t, unsigned int);
typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned int, void *);
typedef void (*qemu_plugin_vcpu_tb_trans_cb_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t, qemu_plugin_vcpu_simple_cb_t);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, qemu_plugin_vcpu_tb_trans_cb_t);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, qemu_plugin_udata_cb_t, void *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, qemu_plugin_vcpu_udata_cb_t,
					    enum qemu_plugin_cb_flags, void *);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *,
							 enum qemu_plugin_op, qemu_plugin_u64,
							 uint64_t);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *, unsigned int);
GArray *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(struct qemu_plugin_register *, GByteArray *);
bool qemu_plugin_read_memory_vaddr(uint64_t, GByteArray *, size_t);
GByteArray *g_byte_array_new(void);
GByteArray *g_byte_array_set_size(GByteArray *, unsigned int);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 4;
EXPORT int qemu_plugin_install(qemu_plugin_id_t, const qemu_info_t *, int, char **);

/* --- hooks ------------------------------------------------------------------------------------- */

enum { KIND_ENTRY, KIND_EXIT };
enum { RECORD_ENTRY = 1, RECORD_EXIT, RECORD_ANCHOR, RECORD_HALT, RECORD_RETURN, RECORD_READING };

#define MAX_VALUES	8
#define MAX_LENGTH	128

struct value {
	int reg;		/* index into registers */
	bool loads;		/* memory at register + offset */
	bool follows;		/* of the pointer there, + offset2 */
	uint64_t offset, offset2;
	uint32_t length;
};

struct hook {
	uint16_t id;
	int kind;
	uint64_t address, end;
	int values;
	struct value value[MAX_VALUES];
};

static const char * const register_names[] = {
	"rax", "rdx", "rdi", "rsi", "rcx", "r8", "r9", "rsp", "gs_base", "k_gs_base",
};
#define REGISTERS	(sizeof(register_names) / sizeof(register_names[0]))
enum { REG_RAX, REG_RDX, REG_GS_BASE = 8, REG_KERNEL_GS_BASE };

static struct hook *hooks;
static size_t hook_count;
static struct qemu_plugin_register *registers[REGISTERS];
static GByteArray *scratch;

/* --- CPUs, and what they have executed --------------------------------------------------------- */

/*
 * QEMU 10.0 takes the number of the CPU that translates a block for a constant, also where another
 * CPU executes the block, and multiplies the constant itself by the size of a scoreboard's element,
 * at each use. So the number that a callback gets means nothing, and a block of CPU 1 would count
 * far outside of any counter. With elements of one octet the constant stays; and a place that is
 * less by the CPU's number makes all blocks count at one.
 */
#define MAX_CPUS	8
static struct qemu_plugin_scoreboard *octets;
static uint64_t *executed;

static int cpus = 1;
static uint64_t per_cpu_bases;

static struct { uint64_t base; int cpu; } known[2 * MAX_CPUS];
static size_t known_count;

static uint64_t read_register(int reg);
static void read_memory(uint64_t address, void *to, size_t length);

/* The CPU that executes or translates, by the base of its own memory; -1 without one. */
static int this_cpu(void)
{
	uint64_t base, word;
	size_t i;
	int cpu;

	if (cpus == 1)
		return 0;
	base = read_register(REG_GS_BASE);
	/* In a program, before swapgs. */
	if (!(base >> 63))
		base = read_register(REG_KERNEL_GS_BASE);
	if (!(base >> 63))
		return -1;
	for (i = 0; i < known_count; i++)
		if (known[i].base == base)
			return known[i].cpu;
	for (cpu = 0; cpu < cpus; cpu++) {
		read_memory(per_cpu_bases + 8 * cpu, &word, 8);
		if (word != base)
			continue;
		if (known_count < 2 * MAX_CPUS) {
			known[known_count].base = base;
			known[known_count++].cpu = cpu;
		}
		return cpu;
	}
	return -1;
}

static void on_instruction(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	++*executed;
}

/* Counts an instruction, translated by @cpu. */
static void count_instruction(struct qemu_plugin_insn *insn, int cpu)
{
	qemu_plugin_u64 place = { octets, MAX_CPUS - cpu };

	if (cpu < 0)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_instruction,
						       QEMU_PLUGIN_CB_NO_REGS, NULL);
	else
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64,
								    place, 1);
}

/* --- the stream -------------------------------------------------------------------------------- */

static int out = -1;
static uint8_t buffer[1 << 20];
static size_t filled;

static void fail(const char *what)
{
	fprintf(stderr, "recorder: %s: %s\n", what, strerror(errno));
	/* What was recorded is not complete: the run must not pass for one. */
	_exit(75);
}

static void flush(void)
{
	size_t done = 0;

	while (done < filled) {
		ssize_t n = write(out, buffer + done, filled - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			fail("cannot write the trace");
		done += n;
	}
	filled = 0;
}

static void put(const void *bytes, size_t length)
{
	memcpy(buffer + filled, bytes, length);
	filled += length;
}

/* The CPU that executes; the first one until it has its own memory. */
static uint8_t executing_cpu(void)
{
	int cpu = this_cpu();

	return cpu < 0 ? 0 : cpu;
}

static void record(uint8_t kind, uint16_t id, const void *payload, uint32_t length)
{
	uint8_t where = executing_cpu();

	if (filled + 16 + length > sizeof(buffer))
		flush();
	put(&kind, 1);
	put(&where, 1);
	put(&id, 2);
	put(&length, 4);
	put(executed, 8);
	put(payload, length);
}

/* --- values ------------------------------------------------------------------------------------ */

static uint64_t read_register(int reg)
{
	uint64_t value = 0;

	g_byte_array_set_size(scratch, 0);
	if (!registers[reg])
		return 0;
	qemu_plugin_read_register(registers[reg], scratch);
	memcpy(&value, scratch->data, scratch->len < 8 ? scratch->len : 8);
	return value;
}

/* Copies guest memory; zeros if it is not mapped. */
static void read_memory(uint64_t address, void *to, size_t length)
{
	g_byte_array_set_size(scratch, 0);
	if (qemu_plugin_read_memory_vaddr(address, scratch, length) && scratch->len >= length)
		memcpy(to, scratch->data, length);
	else
		memset(to, 0, length);
}

static void on_hook(unsigned int cpu, void *data)
{
	const struct hook *hook = data;
	uint8_t payload[MAX_VALUES * MAX_LENGTH];
	uint32_t length = 0;
	int i;

	(void)cpu;
	for (i = 0; i < hook->values; i++) {
		const struct value *value = &hook->value[i];
		uint64_t word = read_register(value->reg);

		if (!value->loads) {
			memcpy(payload + length, &word, 8);
			length += 8;
			continue;
		}
		if (value->follows) {
			read_memory(word + value->offset, &word, 8);
			read_memory(word + value->offset2, payload + length, value->length);
		} else {
			read_memory(word + value->offset, payload + length, value->length);
		}
		length += value->length;
	}
	record(hook->kind == KIND_ENTRY ? RECORD_ENTRY : RECORD_EXIT, hook->id, payload, length);
}

/* QEMU skips the time until the next interrupt, if all virtual CPUs are here. */
static void on_halt(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	record(RECORD_HALT, 0, NULL, 0);
	/* QEMU is killed while its guest sleeps. */
	flush();
}

static void on_return(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	record(RECORD_RETURN, 0, NULL, 0);
}

/* Instructions before the last read of the TSC. */
static uint64_t read_at;
/* Of each CPU, reads whose value was not seen yet: one, and more in interrupts. */
static unsigned int reads[MAX_CPUS];

/* A read of the TSC. */
static void on_read(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	read_at = *executed;
	reads[executing_cpu()]++;
}

/* Behind it: its value is in edx:eax, and is out of date if something came in between. */
static void on_tsc(unsigned int cpu, void *data)
{
	uint64_t low, high, tsc;
	unsigned int *unseen = &reads[executing_cpu()];

	(void)cpu;
	(void)data;
	/* Came here by a jump. */
	if (!*unseen)
		return;
	--*unseen;
	low = read_register(REG_RAX);
	high = read_register(REG_RDX);
	tsc = (high << 32) | (low & 0xffffffff);
	record(*executed == read_at + 1 ? RECORD_ANCHOR : RECORD_READING, 0, &tsc, sizeof(tsc));
}

/* --- translation ------------------------------------------------------------------------------- */

/* Addresses behind an instruction that reads the TSC: such an instruction ends its block. */
static uint64_t *behind;
static size_t behind_count, behind_room;

static bool is_behind(uint64_t address)
{
	size_t i;

	for (i = 0; i < behind_count; i++)
		if (behind[i] == address)
			return true;
	return false;
}

static void add_behind(uint64_t address)
{
	if (is_behind(address))
		return;
	if (behind_count == behind_room) {
		behind_room = behind_room ? 2 * behind_room : 64;
		behind = realloc(behind, behind_room * sizeof(*behind));
		if (!behind)
			fail("memory");
	}
	behind[behind_count++] = address;
}

static bool is_exit(const struct hook *hook, const uint8_t *code, size_t size, uint64_t address)
{
	uint64_t target;
	int32_t far;

	if (size == 1 && code[0] == 0xc3)
		return true;
	/* A conditional jump out leads to a cold part of the function, an unconditional one may. */
	if (size != 5 || code[0] != 0xe9)
		return false;
	memcpy(&far, code + 1, sizeof(far));
	target = address + size + far;
	return target < hook->address || target >= hook->end;
}

static int by_address(const void *one, const void *other)
{
	uint64_t a = ((const struct hook *)one)->address, b = ((const struct hook *)other)->address;

	return a < b ? -1 : a > b;
}

/* The first hook whose function may contain the address: hooks are sorted, and ranges disjoint. */
static size_t first_hook(uint64_t address)
{
	size_t low = 0, high = hook_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (hooks[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void on_translation(qemu_plugin_id_t plugin, struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb), i, h;
	int cpu = this_cpu();

	(void)plugin;
	for (i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t address = qemu_plugin_insn_vaddr(insn);
		uint8_t code[16];
		size_t size = qemu_plugin_insn_data(insn, code, sizeof(code));

		if (i == 0 && is_behind(address))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_tsc, QEMU_PLUGIN_CB_R_REGS, NULL);
		for (h = first_hook(address); h < hook_count && hooks[h].address <= address; h++) {
			struct hook *hook = &hooks[h];

			if (hook->kind == KIND_ENTRY ? address == hook->address :
						       is_exit(hook, code, size, address))
				qemu_plugin_register_vcpu_insn_exec_cb(insn, on_hook,
								       QEMU_PLUGIN_CB_R_REGS, hook);
		}
		/* hlt: what follows is executed when an interrupt has come. */
		if (size == 1 && code[0] == 0xf4)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_halt, QEMU_PLUGIN_CB_R_REGS,
							       NULL);
		/* iretq */
		if (size == 2 && code[0] == 0x48 && code[1] == 0xcf)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_return, QEMU_PLUGIN_CB_R_REGS,
							       NULL);
		/* rdtsc, rdtscp */
		if ((size == 2 && code[0] == 0x0f && code[1] == 0x31) ||
		    (size == 3 && code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9)) {
			add_behind(address + size);
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_read, QEMU_PLUGIN_CB_R_REGS,
							       NULL);
		}
		count_instruction(insn, cpu);
	}
}

/* The registers of the first CPU serve for all; they exist only after its initialisation. */
static void on_cpu(qemu_plugin_id_t plugin, unsigned int cpu)
{
	qemu_plugin_reg_descriptor *one;
	GArray *all;
	size_t i, r;

	(void)plugin;
	if (cpu)
		return;
	executed = (uint64_t *)((uint8_t *)qemu_plugin_scoreboard_find(octets, 0) + MAX_CPUS);
	all = qemu_plugin_get_registers();
	one = (void *)all->data;
	for (i = 0; i < all->len; i++)
		for (r = 0; r < REGISTERS; r++)
			if (!strcmp(one[i].name, register_names[r]))
				registers[r] = one[i].handle;
}

static void on_end(qemu_plugin_id_t plugin, void *data)
{
	(void)plugin;
	(void)data;
	flush();
}

/* --- start ------------------------------------------------------------------------------------- */

static bool parse_value(char *word, struct value *value)
{
	char *at = word + strcspn(word, "+:>");
	char mark = *at;
	size_t r;

	*at = 0;
	for (r = 0; r < REGISTERS && strcmp(word, register_names[r]); r++)
		;
	if (r == REGISTERS)
		return false;
	value->reg = r;
	if (!mark)
		return true;
	value->loads = true;
	if (mark == '+')
		value->offset = strtoull(at + 1, &at, 0), mark = *at;
	if (mark == '>') {
		value->follows = true;
		value->offset2 = strtoull(at + 1, &at, 0), mark = *at;
	}
	if (mark != ':')
		return false;
	value->length = strtoul(at + 1, &at, 0);
	return !*at && value->length && value->length <= MAX_LENGTH;
}

static bool parse_hook(char *line, struct hook *hook)
{
	char *rest = line, *word, *words[4];
	int i;

	for (i = 0; i < 4; i++)
		if (!(words[i] = strtok_r(rest, " \n", &rest)))
			return false;
	hook->id = strtoul(words[0], NULL, 10);
	hook->kind = !strcmp(words[1], "entry") ? KIND_ENTRY : KIND_EXIT;
	hook->address = strtoull(words[2], NULL, 16);
	hook->end = strtoull(words[3], NULL, 16);
	while ((word = strtok_r(rest, " \n", &rest)))
		if (hook->values == MAX_VALUES || !parse_value(word, &hook->value[hook->values++]))
			return false;
	return hook->address < hook->end;
}

static bool read_hooks(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[1024];

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "per-cpu %" SCNx64, &per_cpu_bases) == 1)
			continue;
		hooks = realloc(hooks, (hook_count + 1) * sizeof(*hooks));
		if (!hooks)
			return false;
		memset(&hooks[hook_count], 0, sizeof(*hooks));
		if (!parse_hook(line, &hooks[hook_count]))
			return false;
		hook_count++;
	}
	fclose(file);
	qsort(hooks, hook_count, sizeof(*hooks), by_address);
	return true;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t plugin, const qemu_info_t *info, int argc, char **argv)
{
	const char *list = NULL, *to = NULL;
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "hooks=", 6))
			list = argv[i] + 6;
		else if (!strncmp(argv[i], "out=", 4))
			to = argv[i] + 4;
	}
	if (info->version.min > 4 || info->version.cur < 4 || !info->system_emulation ||
	    strcmp(info->target_name, "x86_64")) {
		fprintf(stderr, "recorder: made for x86_64 and plug-in API 4, not %s and %d to %d\n",
			info->target_name, info->version.min, info->version.cur);
		return 1;
	}
	cpus = info->system.max_vcpus;
	if (!list || !to || !read_hooks(list) || (cpus > 1 && !per_cpu_bases)) {
		fprintf(stderr, "recorder: cannot read the hooks\n");
		return 1;
	}
	if (cpus > MAX_CPUS) {
		fprintf(stderr, "recorder: made for at most %d CPUs, not %d\n", MAX_CPUS, cpus);
		return 1;
	}
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out < 0) {
		fprintf(stderr, "recorder: cannot open %s: %s\n", to, strerror(errno));
		return 1;
	}
	scratch = g_byte_array_new();
	/* At least 16, QEMU says. */
	octets = qemu_plugin_scoreboard_new(1);
	qemu_plugin_register_vcpu_init_cb(plugin, on_cpu);
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, on_translation);
	qemu_plugin_register_atexit_cb(plugin, on_end, NULL);
	return 0;
}
