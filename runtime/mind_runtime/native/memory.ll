; Memory for results and arenas that is used again: fresh pages cost many times what a kernel costs that fills them.
;
; A block begins with a header of 64 bytes, its capacity, so that what follows is aligned for the widest vector. Blocks of 2 MiB
; and more ask for huge pages. Blocks of 64 KiB and more that are freed are kept, up to @limit bytes in all, and found again by
; size; the one kept longest goes first. Whoever finds the list locked, in another thread or for ever in a child that was forked
; at the wrong moment, does without it.

@kept = internal global [64 x ptr] zeroinitializer
@total = internal global i64 0
@limit = internal global i64 0
@hand = internal global i64 0
@lock = internal global i32 0

declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)
declare ptr @memcpy(ptr, ptr, i64)
declare ptr @memset(ptr, i32, i64)

define internal i1 @locked() nounwind {
  %pair = cmpxchg ptr @lock, i32 0, i32 1 acquire monotonic
  %got = extractvalue { i32, i1 } %pair, 1
  ret i1 %got
}

define internal void @unlock() nounwind {
  store atomic i32 0, ptr @lock release, align 4
  ret void
}

define internal i64 @capacity(ptr %block) nounwind {
  %header = getelementptr i8, ptr %block, i64 -64
  %size = load i64, ptr %header
  ret i64 %size
}

define internal void @give_back(ptr %block) nounwind {
  %header = getelementptr i8, ptr %block, i64 -64
  call void @free(ptr %header)
  ret void
}

; A kept block that holds %size bytes and at most an eighth more, or null. The list is locked.
define internal ptr @find(i64 %size) nounwind {
entry:
  %eighth = lshr i64 %size, 3
  %most = add i64 %size, %eighth
  %page = add i64 %most, 4096
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %at = getelementptr [64 x ptr], ptr @kept, i64 0, i64 %i
  %block = load ptr, ptr %at
  %none = icmp eq ptr %block, null
  br i1 %none, label %on, label %measure
measure:
  %has = call i64 @capacity(ptr %block)
  %enough = icmp uge i64 %has, %size
  %little = icmp ule i64 %has, %page
  %fits = and i1 %enough, %little
  br i1 %fits, label %take, label %on
on:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 64
  br i1 %more, label %look, label %nothing
take:
  store ptr null, ptr %at
  %sum = load i64, ptr @total
  %rest = sub i64 %sum, %has
  store i64 %rest, ptr @total
  ret ptr %block
nothing:
  ret ptr null
}

; A new block of %size bytes, or null.
define internal ptr @fresh(i64 %size) nounwind {
entry:
  %large = icmp uge i64 %size, 2097152
  %align = select i1 %large, i64 2097152, i64 64
  %unit = select i1 %large, i64 4096, i64 64
  %with = add i64 %size, 64
  %less = sub i64 %unit, 1
  %up = add i64 %with, %less
  %mask = sub i64 0, %unit
  %bytes = and i64 %up, %mask
  %header = call ptr @aligned_alloc(i64 %align, i64 %bytes)
  %none = icmp eq ptr %header, null
  br i1 %none, label %out, label %got
out:
  ret ptr null
got:
  br i1 %large, label %huge, label %done
huge:
  %whole = and i64 %bytes, -2097152
  %ignored = call i32 @madvise(ptr %header, i64 %whole, i32 14)
  br label %done
done:
  %room = sub i64 %bytes, 64
  store i64 %room, ptr %header
  %block = getelementptr i8, ptr %header, i64 64
  ret ptr %block
}

; Free what is at the hand, and move it on. The list is locked.
define internal void @evict() nounwind {
entry:
  %hand = load i64, ptr @hand
  %at = getelementptr [64 x ptr], ptr @kept, i64 0, i64 %hand
  %after = add i64 %hand, 1
  %round = and i64 %after, 63
  store i64 %round, ptr @hand
  %block = load ptr, ptr %at
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %some
some:
  store ptr null, ptr %at
  %has = call i64 @capacity(ptr %block)
  %sum = load i64, ptr @total
  %rest = sub i64 %sum, %has
  store i64 %rest, ptr @total
  call void @give_back(ptr %block)
  br label %done
done:
  ret void
}

; Free kept blocks until %size more bytes are within the limit. The list is locked; %size is at most the limit.
define internal void @make_room(i64 %size) nounwind {
entry:
  br label %look
look:
  %limit = load i64, ptr @limit
  %sum = load i64, ptr @total
  %then = add i64 %sum, %size
  %over = icmp ugt i64 %then, %limit
  br i1 %over, label %drop, label %done
drop:
  call void @evict()
  br label %look
done:
  ret void
}

; Where to keep a block: an empty place, or the one at the hand, emptied. The list is locked. The hand begins anew with an empty
; list, so that it comes to blocks in the order in which they are kept.
define internal ptr @place() nounwind {
entry:
  %sum = load i64, ptr @total
  %empty = icmp eq i64 %sum, 0
  br i1 %empty, label %first, label %look
first:
  store i64 0, ptr @hand
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ 0, %first ], [ %next, %on ]
  %at = getelementptr [64 x ptr], ptr @kept, i64 0, i64 %i
  %block = load ptr, ptr %at
  %none = icmp eq ptr %block, null
  br i1 %none, label %found, label %on
on:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 64
  br i1 %more, label %look, label %full
found:
  ret ptr %at
full:
  %hand = load i64, ptr @hand
  %last = getelementptr [64 x ptr], ptr @kept, i64 0, i64 %hand
  call void @evict()
  ret ptr %last
}

; The functions of NumPy's handler; the context is not used.

define ptr @mind_malloc(ptr %context, i64 %given) nounwind {
entry:
  %empty = icmp eq i64 %given, 0
  %size = select i1 %empty, i64 1, i64 %given
  %absurd = icmp ugt i64 %size, 70368744177664
  br i1 %absurd, label %nothing, label %ask
nothing:
  ret ptr null
ask:
  %worth = icmp uge i64 %size, 65536
  br i1 %worth, label %try, label %make
try:
  %mine = call i1 @locked()
  br i1 %mine, label %search, label %make
search:
  %old = call ptr @find(i64 %size)
  call void @unlock()
  %none = icmp eq ptr %old, null
  br i1 %none, label %make, label %again
again:
  ret ptr %old
make:
  %new = call ptr @fresh(i64 %size)
  ret ptr %new
}

define void @mind_free(ptr %context, ptr %block, i64 %ignored) nounwind {
entry:
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %some
some:
  %has = call i64 @capacity(ptr %block)
  %worth = icmp uge i64 %has, 65536
  %limit = load i64, ptr @limit
  %within = icmp ule i64 %has, %limit
  %keep = and i1 %worth, %within
  br i1 %keep, label %try, label %back
try:
  %mine = call i1 @locked()
  br i1 %mine, label %put, label %back
put:
  call void @make_room(i64 %has)
  %at = call ptr @place()
  store ptr %block, ptr %at
  %sum = load i64, ptr @total
  %more = add i64 %sum, %has
  store i64 %more, ptr @total
  call void @unlock()
  br label %done
back:
  call void @give_back(ptr %block)
  br label %done
done:
  ret void
}

define ptr @mind_calloc(ptr %context, i64 %count, i64 %each) nounwind {
entry:
  %pair = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %size = extractvalue { i64, i1 } %pair, 0
  %wrong = extractvalue { i64, i1 } %pair, 1
  br i1 %wrong, label %nothing, label %make
make:
  %block = call ptr @mind_malloc(ptr %context, i64 %size)
  %none = icmp eq ptr %block, null
  br i1 %none, label %nothing, label %clear
clear:
  %ignored = call ptr @memset(ptr %block, i32 0, i64 %size)
  ret ptr %block
nothing:
  ret ptr null
}

define ptr @mind_realloc(ptr %context, ptr %block, i64 %size) nounwind {
entry:
  %none = icmp eq ptr %block, null
  br i1 %none, label %first, label %some
first:
  %made = call ptr @mind_malloc(ptr %context, i64 %size)
  ret ptr %made
some:
  %has = call i64 @capacity(ptr %block)
  %half = lshr i64 %has, 1
  %enough = icmp uge i64 %has, %size
  %little = icmp ule i64 %half, %size
  %stay = and i1 %enough, %little
  br i1 %stay, label %same, label %move
same:
  ret ptr %block
move:
  %new = call ptr @mind_malloc(ptr %context, i64 %size)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %nothing, label %copy
copy:
  %count = select i1 %enough, i64 %size, i64 %has
  %ignored = call ptr @memcpy(ptr %new, ptr %block, i64 %count)
  call void @mind_free(ptr %context, ptr %block, i64 0)
  ret ptr %new
nothing:
  ret ptr null
}

declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)

@handler = internal global ptr null

; The capsule of the handler, as NumPy wants it.
define void @mind_handle_by(ptr %capsule) nounwind {
  store ptr %capsule, ptr @handler
  ret void
}

; Keep at most so many bytes from now on; how many were kept before.
define i64 @mind_keep(i64 %bytes) nounwind {
entry:
  %mine = call i1 @locked()
  br i1 %mine, label %set, label %busy
set:
  %before = load i64, ptr @total
  store i64 %bytes, ptr @limit
  call void @make_room(i64 0)
  call void @unlock()
  ret i64 %before
busy:
  ret i64 -1
}
